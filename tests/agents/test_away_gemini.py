"""Gemini CLI in a terminal that its person has left: what its hooks can answer while the person is away, and what they cannot."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents import rested
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import GEMINI, Desk, need
from tests.agents.screens import Screen
from tests.agents.script import Call, Conversation, Say, Turn
from tests.agents.stories import SUBTASK, TASK, delegate
from tests.agents.test_setup import upcall
from upcall.home.files import Home

HOOK = """\
#!/bin/sh
case "$(cat)" in
*made0*) echo '{"decision": "deny", "reason": "not this one"}' ;;
*) echo '{"decision": "allow"}' ;;
esac
"""


@pytest.mark.promise("raised/10")
def test_a_hook_of_gemini_denies_a_tool_and_its_yes_does_not_spare_the_dialog(
    model: Model, desk: Desk, tmp_path: Path
) -> None:
    need(GEMINI)
    hook = tmp_path / "hook"
    hook.write_text(HOOK)
    hook.chmod(0o700)
    entry = {"hooks": [{"type": "command", "command": str(hook)}]}
    desk.change_gemini_settings({"hooks": {"BeforeTool": [entry]}})
    touch = [Call("run_shell_command", {"command": f"touch made{number}"}) for number in range(2)]
    model.play(*touch, Say("All is done."))
    screen = Screen(desk, GEMINI, "--approval-mode", "default")
    try:
        screen.until("Type your message")
        screen.prompt("Do the task.", model.is_spoken_to)
        screen.until("Allow execution of")
        denied = model.wait_for(lambda heard: heard.results)
        assert "not this one" in json.dumps(denied.results)
        screen.press("\r", (desk.work / "made1").exists)
        screen.until("All is done.")
    finally:
        screen.close()
    assert not (desk.work / "made0").exists()


CACHES = [{"label": "Redis", "description": "x"}, {"label": "Memcached", "description": "y"}]
QUESTION = {"question": "Which cache?", "header": "Cache", "type": "choice", "options": CACHES}
ASK = Call("ask_user", {"questions": [QUESTION]})


@pytest.fixture
def rested_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """A person whose daemon resumes sessions of Gemini CLI at once."""
    package = tmp_path / "package"
    package.mkdir()
    rested.install(package, monkeypatch)
    home = Home(tmp_path / "upcall")
    home.create()
    home.config_file.write_text(rested.SETTINGS)
    with Person(home) as sitting:
        yield sitting


@contextmanager
def sitting_at(desk: Desk, owner: Person) -> Iterator[Screen]:
    """Gemini CLI where `upcall setup gemini --away` was run, ready for a prompt."""
    need(GEMINI)
    done = upcall(desk, owner, "setup", "gemini", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    opened = Screen(desk, GEMINI, "--approval-mode", "default")
    try:
        opened.until("Type your message")
        yield opened
    finally:
        opened.close()


@pytest.fixture
def screen(desk: Desk, owner: Person) -> Iterator[Screen]:
    """One in front of its owner."""
    with sitting_at(desk, owner) as opened:
        yield opened


@pytest.mark.promise("raised/10")
def test_questions_of_gemini_and_the_end_of_its_turn_go_to_people_while_away(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    model.play(ASK, ASK, Say("All is done."), Say("Bye."))
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt("Do the task.", model.is_spoken_to)

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("gemini-cli in project", "open")
    owner.answer(question["ref"], "Memcached")
    # The first key ends the hook, and the dialog is there.
    typed = owner.next_question(screen)
    owner.collected(question["id"])
    screen.press(" ", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    screen.until("Which cache?", "Redis")
    screen.press("\r", lambda: any("Redis" in "".join(heard.results) for heard in model.conversations))

    finished = owner.next_question(screen)
    assert "All is done." in finished["context"]
    owner.answer(finished["ref"], "Say bye.")
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    assert "answered from elsewhere: Memcached" in "".join(told.results)

    assert upcall(desk, owner, "down").returncode == 0
    screen.until("Bye.")
    model.play(ASK, Say("That is all."))
    screen.prompt(
        "Once more.",
        lambda: any("Once more." in said for heard in model.conversations for said in heard.prompts),
    )
    screen.until("Which cache?", "Redis")
    screen.press("\r", lambda: not model.left)
    screen.until("That is all.")


@pytest.mark.cold
@pytest.mark.promise("raised/9", "raised/10")
def test_a_session_of_gemini_whose_terminal_is_gone_goes_on_as_a_run_with_the_answer(
    model: Model, rested_owner: Person, desk: Desk
) -> None:
    model.play(ASK, Say("Bye."))
    assert upcall(desk, rested_owner, "away", "on").returncode == 0
    with sitting_at(desk, rested_owner) as screen:
        screen.prompt("Do the task.", model.is_spoken_to)
        question = rested_owner.next_question(screen)
        screen.hang_up()
    assert rested_owner.show(question["id"])["state"] == "open"
    rested_owner.answer(question["ref"], "Memcached")

    told = model.wait_for(lambda heard: "The user answered: Memcached" in heard.prompts[-1])
    assert "Do the task." in told.prompts
    (run,) = rested_owner.client.get("/v1/runs")["items"]
    assert (run["agent"], run["permission"]) == ("gemini", "approval")
    assert run["session"] == question["session"]


@pytest.mark.promise("raised/10")
def test_a_subagent_of_gemini_asks_people_elsewhere_and_its_actions_stay_in_the_terminal(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    def act(heard: Conversation) -> Turn:
        if any(SUBTASK in prompt for prompt in heard.prompts) and len(heard.results) < 2:
            return (ASK, Call("run_shell_command", {"command": "touch made0"}))[len(heard.results)]
        return delegate(heard)

    model.follow(act)
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt(TASK, model.is_spoken_to)
    question = owner.next_question(screen)
    assert (question["asker"], question["kind"]) == ("gemini-cli in project", "ask_user_question")
    owner.answer(question["ref"], "Memcached")

    screen.until("Allow execution of")
    heard = model.wait_for(lambda heard: heard.results)
    assert "answered from elsewhere: Memcached" in "".join(heard.results)
    owner.let_pass(1)
    screen.press("\r", (desk.work / "made0").exists)
    finished = owner.next_question(screen)
    assert finished["session"] == question["session"]
    assert "I was told" in finished["context"]
