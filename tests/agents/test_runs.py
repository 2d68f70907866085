"""Runs: a question is asked, answered on the command line, and the work is finished with the answer.

opencode and Gemini CLI take long to start: they ask in the same runs in which they do everything else, see
`test_runs_native`.
"""

import shutil
from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, OPENCODE, Desk, Program
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Say, say_back
from tests.agents.stories import ASK, TASK, wait_for_record


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall")) as owner:
        yield owner


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """A daemon that has agents wait for a moment only."""
    with a_boss(tmp_path_factory.mktemp("hasty"), 'block_timeout = "1s"\n') as owner:
        yield owner


def by_name(program: Program) -> str:
    return program.name


every_way = pytest.mark.parametrize(
    ("program", "permission"),
    [(CLAUDE, "approval"), (CODEX, "approval"), (CODEX, "autonomous"), (OPENCODE, "approval")],
    ids=["claude", "codex app-server", "codex exec", "opencode"],
)


@pytest.mark.parametrize("program", (CLAUDE, CODEX), ids=by_name)
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


@every_way
def test_an_agent_that_was_killed_goes_on_with_the_late_answer(
    program: Program, permission: str, model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(ASK, Say("Memcached it is."))
    run = boss.run(program, desk, TASK, "--permission", permission)
    question = boss.next_question(run)
    wait_for_record(desk, program)
    run.kill()
    killed = run.until(lambda now: now["exit_code"] == -9)
    assert (killed["state"], killed["inquiries"]) == ("waiting_input", [question["ref"]])
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], over["result"], run.starts()) == ("completed", "Memcached it is.", 2), run.report()
    heard = model.conversations[-1].prompts[-1]
    for part in ("You asked: Which cache?", "Redis; Memcached", "The user answered: Memcached"):
        assert part in heard
    settled = boss.show(question["id"])
    assert settled["answer"]["collected_at"] is not None
    assert (settled["resume"]["state"], settled["resume"]["attempts"]) == ("done", 1)


@every_way
def test_an_answer_finds_the_agent_although_the_daemon_was_killed_meanwhile(
    program: Program, permission: str, model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(ASK, say_back)
    run = boss.run(program, desk, TASK, "--permission", permission)
    question = boss.next_question(run)
    boss.kill_daemon()
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]
    assert boss.show(question["id"])["answer"]["collected_at"] is not None


@pytest.mark.promise("spec/97")
@pytest.mark.parametrize("program", (CLAUDE, CODEX, OPENCODE), ids=by_name)
def test_an_agent_that_was_told_to_wait_no_longer_ends_and_the_answer_continues_it(
    program: Program, model: Model, desk: Desk, hasty: Boss
) -> None:
    """Its turn ends well without the answer, which comes when nothing is alive that could take it."""
    model.play(ASK, Say("I wait for the person."), Say("Memcached it is."))
    run = hasty.run(program, desk, TASK)
    question = hasty.next_question(run)
    parked = run.until(lambda now: now["exit_code"] is not None)
    assert (parked["state"], parked["inquiries"]) == ("waiting_input", [question["ref"]])
    assert parked["result"] == "I wait for the person."
    assert "No answer yet" in model.conversations[-1].results[-1]
    hasty.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], over["result"], run.starts()) == ("completed", "Memcached it is.", 2), run.report()
    assert "The user answered: Memcached" in model.conversations[-1].prompts[-1]
    assert hasty.show(question["id"])["answer"]["collected_at"] is not None


def test_a_session_of_claude_that_is_gone_is_tried_once_and_its_answer_is_kept(
    model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(ASK)
    run = boss.run(CLAUDE, desk, TASK)
    question = boss.next_question(run)
    wait_for_record(desk, CLAUDE)
    run.kill()
    run.until(lambda now: now["exit_code"] is not None)
    shutil.rmtree(desk.home / ".claude/projects")
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], over["reason"]) == ("failed", "resume_failed: session_gone"), run.report()
    assert run.starts() == 2
    settled = boss.show(question["id"])
    assert settled["answer"]["answers"] == [["Memcached"]]
    assert (settled["resume"]["state"], settled["resume"]["attempts"]) == ("failed", 1)
