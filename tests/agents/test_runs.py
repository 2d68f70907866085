"""Runs of every agent: a question is asked, answered on the command line, and the work is finished with the answer."""

from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, PROGRAMS, Desk, Program
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Call, Say, say_back

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
ASK = Call("ask_human", CACHE)
TASK = "Set up the cache."


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall")) as owner:
        yield owner


def by_name(program: Program) -> str:
    return program.name


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_a_run_asks_and_finishes_with_the_answer(
    program: Program, model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(ASK, say_back)
    run = boss.run(program, desk, TASK)
    question = boss.next_question(run)
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]
    assert "Memcached" in over["result"]
    assert over["turns"] == 2
    settled = boss.show(question["id"])
    assert settled["answer"]["collected_at"] is not None
    assert settled["resume"] is None
