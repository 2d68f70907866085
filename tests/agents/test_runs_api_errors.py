"""The service of the model refuses the process that an answer was resumed with: the answer is kept and told again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, OPENCODE, Desk, Program
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Refuse, Say
from tests.agents.stories import ASK, TASK, wait_for_record


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall")) as owner:
        yield owner


@pytest.mark.promise("trust/65", "trust/66")
@pytest.mark.parametrize(
    ("program", "permission", "status"),
    [
        (CLAUDE, "approval", 401),
        (CLAUDE, "approval", 529),
        (CODEX, "approval", 529),
        (CODEX, "autonomous", 429),
        (OPENCODE, "approval", 401),
    ],
    ids=["claude 401", "claude 529", "codex app-server 529", "codex exec 429", "opencode 401"],
)
def test_an_answer_that_no_model_has_seen_is_kept_until_the_service_is_back(
    program: Program, permission: str, status: int, model: Model, desk: Desk, boss: Boss
) -> None:
    desk.environment["CLAUDE_CODE_MAX_RETRIES"] = "0"
    model.play(ASK, Refuse(status, "not now"), Say("Memcached it is."))
    run = boss.run(program, desk, TASK, "--permission", permission)
    question = boss.next_question(run)
    wait_for_record(desk, program)
    run.kill()
    run.until(lambda now: now["exit_code"] == -9)
    boss.answer(question["ref"], "Memcached")

    refused = run.until(lambda now: now["next_try"])
    assert (refused["state"], refused["reason"]) == ("waiting_input", f"api_error_{status}"), run.report()
    waiting = boss.until_resume(question["id"], "waiting")
    assert waiting["answer"]["collected_at"] is None
    assert waiting["resume"]["error"] == f"waiting for the API of {program.name}: {status}"
    told = f"waiting for the API of {program.name}: {status}, next try "
    for words in (("show", question["ref"]), ("show", run.name), ("runs",), ("status",)):
        assert told in boss.said(desk, *words), words

    boss.said(desk, "retry", run.name)
    over = run.finish()
    assert (over["state"], over["result"], over["next_try"]) == ("completed", "Memcached it is.", None)
    assert any("The user answered: Memcached" in prompt for prompt in model.conversations[-1].prompts)
    settled = boss.show(question["id"])
    assert settled["answer"]["collected_at"] is not None
    assert settled["resume"]["state"] == "done"


@pytest.mark.promise("trust/65")
def test_an_answer_is_not_taken_by_a_program_that_is_not_logged_in(
    model: Model, desk: Desk, tmp_path: Path
) -> None:
    """Claude Code says so in an assistant's message, without having asked any model."""
    model.play(ASK, Say("Memcached it is."))
    with a_boss(tmp_path / "upcall") as boss:
        run = boss.run(CLAUDE, desk, TASK)
        question = boss.next_question(run)
        wait_for_record(desk, CLAUDE)
        environment = boss.home.path / "runs" / run.name / "environment.json"
        logged_in = json.loads(environment.read_text())
        environment.write_text(json.dumps({**logged_in, "ANTHROPIC_API_KEY": ""}))
        run.kill()
        boss.answer(question["ref"], "Memcached")

        refused = run.until(lambda now: now["next_try"])
        assert "Not logged in" in refused["result"], run.report()
        assert boss.show(question["id"])["answer"]["collected_at"] is None
        environment.write_text(json.dumps(logged_in))
        boss.said(desk, "retry", run.name)
        assert run.finish()["result"] == "Memcached it is."
        assert boss.show(question["id"])["answer"]["collected_at"] is not None
