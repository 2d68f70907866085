"""Runs of Gemini CLI that lose their process or their daemon: both go on in a new process, once the minute is over.

The minute is not waited for. A package of another author brings an adapter that needs no rest, and the files of
sessions are renamed as if they had been begun earlier.
"""

from collections.abc import Iterator

import pytest

from tests.agents import rested
from tests.agents.model_server import Model
from tests.agents.programs import GEMINI, Desk
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Call, Refuse, Say
from tests.agents.stories import ASK, TASK, wait_for_record

# The daemon finds the adapter in a package of the fixture's, on its own path.
pytestmark = pytest.mark.cold


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """A daemon that has the adapter."""
    with pytest.MonkeyPatch.context() as patch:
        rested.install(tmp_path_factory.mktemp("package"), patch)
        with a_boss(tmp_path_factory.mktemp("upcall"), rested.SETTINGS) as owner:
            yield owner


@pytest.mark.parametrize("ends", ["agent", "daemon"])
def test_the_answer_brings_it_back_after_the_end_of_its_process(
    ends: str, model: Model, desk: Desk, boss: Boss
) -> None:
    touch = Call("run_shell_command", {"command": "touch made", "description": "Make a file"})
    model.play(touch, ASK, Say("Memcached it is."))
    run = boss.run(GEMINI, desk, TASK, "--permission", "autonomous")
    question = boss.next_question(run)
    wait_for_record(desk, GEMINI)
    if ends == "agent":
        run.kill()
    else:
        boss.kill_daemon()
    waiting = run.until(lambda now: now["exit_code"] is not None)
    assert (waiting["state"], waiting["inquiries"]) == ("waiting_input", [question["ref"]])
    boss.answer(question["ref"], "Memcached")

    assert (desk.work / "made").exists()
    over = run.finish()
    assert (over["state"], over["result"], run.starts()) == ("completed", "Memcached it is.", 2), run.report()
    heard = model.conversations[-1].prompts
    assert any(TASK in prompt for prompt in heard)
    for part in ("You asked: Which cache?", "Redis; Memcached", "The user answered: Memcached"):
        assert part in heard[-1]
    assert boss.show(question["id"])["answer"]["collected_at"] is not None


@pytest.mark.promise("trust/65", "trust/66")
@pytest.mark.parametrize("status", [401, 403])
def test_an_answer_that_no_model_has_seen_is_kept_until_the_service_is_back(
    status: int, model: Model, desk: Desk, boss: Boss
) -> None:
    """Gemini CLI tries an overloaded service again by itself for minutes, and gives these two up at once."""
    model.play(ASK, Refuse(status, "not now"), Say("Memcached it is."))
    run = boss.run(GEMINI, desk, TASK, "--permission", "autonomous")
    question = boss.next_question(run)
    wait_for_record(desk, GEMINI)
    run.kill()
    run.until(lambda now: now["exit_code"] == -9)
    boss.answer(question["ref"], "Memcached")

    refused = run.until(lambda now: now["next_try"])
    assert (refused["state"], refused["reason"]) == ("waiting_input", f"api_error_{status}"), run.report()
    waiting = boss.until_resume(question["id"], "waiting")
    assert waiting["answer"]["collected_at"] is None
    assert waiting["resume"]["error"] == f"waiting for the API of gemini: {status}"

    boss.said(desk, "retry", run.name)
    over = run.finish()
    assert (over["state"], over["result"], over["next_try"]) == (
        "completed",
        "Memcached it is.",
        None,
    ), run.report()
    assert any("The user answered: Memcached" in prompt for prompt in model.conversations[-1].prompts)
    assert boss.show(question["id"])["resume"]["state"] == "done"


@pytest.mark.promise("trust/76")
def test_an_answer_that_comes_with_the_next_daemon_is_told_once(model: Model, desk: Desk, boss: Boss) -> None:
    """The next daemon cannot talk to the process any more: it tells the answer to the next process, and to that one alone."""
    model.play(ASK)
    model.follow(lambda conversation: Say("Memcached it is."))
    run = boss.run(GEMINI, desk, TASK, "--permission", "autonomous")
    question = boss.next_question(run)
    wait_for_record(desk, GEMINI)
    boss.kill_daemon()
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 2), run.report()
    told = [
        text
        for conversation in model.conversations
        for text in {*conversation.prompts, *conversation.results}
        if "The user answered: Memcached" in text
    ]
    assert len(told) == 1, told
