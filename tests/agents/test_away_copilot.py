"""Copilot CLI in a terminal that its person has left: its hooks come before its dialogs, and wait only while the person is away."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import COPILOT, Desk, need
from tests.agents.runs import at_work_in
from tests.agents.screens import Screen
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import SUBTASK, TASK
from tests.agents.test_setup import upcall

FORM = {"properties": {"cache": {"type": "string", "title": "Cache", "enum": ["Redis", "Memcached"]}}}
ASK = Call("ask_user", {"message": "Which cache?", "requestedSchema": FORM})
TOUCH = [Call("bash", {"command": f"touch made{number}", "description": "x"}) for number in range(4)]
DIALOG = "Do you want to run this command?"
PLAN = Call("exit_plan_mode", {"summary": "- Install Redis", "recommendedAction": "interactive"})
PLAN_HOOK = """\
#!/bin/sh
if test -e "$0.asked"
then echo '{"permissionDecision": "allow"}'
else touch "$0.asked"; echo '{"permissionDecision": "deny", "permissionDecisionReason": "not Redis"}'
fi
"""
"""A hook that sends the first plan back, and says yes to the next."""


@pytest.fixture
def set_up(desk: Desk, owner: Person) -> Desk:
    """A desk where `upcall setup copilot --away` was run."""
    need(COPILOT)
    done = upcall(desk, owner, "setup", "copilot", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    return desk


@contextmanager
def sitting_at(desk: Desk, *words: str) -> Iterator[Screen]:
    """Copilot CLI, ready for a prompt."""
    opened = Screen(desk, COPILOT, *words)
    try:
        opened.until("commands", "help")
        yield opened
    finally:
        opened.close()


@pytest.fixture
def screen(set_up: Desk) -> Iterator[Screen]:
    """One without flags."""
    with sitting_at(set_up) as opened:
        yield opened


def approved_in_the_terminal(screen: Screen, owner: Person, desk: Desk) -> dict[str, Any]:
    """The question about the third file, which its person approves at the keyboard."""
    typed = owner.next_question(screen)
    # The first key ends the hook, and the dialog is there; while a space stands in its prompt, it may not come.
    screen.press("\x7f", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    screen.until(DIALOG)
    screen.press("\r", (desk.work / "made2").exists)
    return typed


@pytest.mark.promise("raised/10")
def test_dialogs_of_copilot_go_to_people_while_away_and_without_a_daemon_all_is_as_before(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    model.play([Say("I need a cache."), ASK], *TOUCH[:3], Say("All is done."), Say("Bye."))
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt("Do the task.")

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("copilot in project", "open")
    assert question["questions"][0]["question"] == "Which cache?"
    owner.answer(question["ref"], "Memcached")
    approval = owner.next_question(screen)
    owner.collected(question["id"])
    owner.answer(approval["ref"], "approve")
    denied = owner.next_question(screen)
    assert (desk.work / "made0").exists()
    owner.answer(denied["ref"], "deny", "--note", "not this one")

    approved_in_the_terminal(screen, owner, desk)

    finished = owner.next_question(screen)
    assert "All is done." in finished["context"]
    owner.answer(finished["ref"], "Say bye.")
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    heard = "\n".join(told.results)
    assert "Memcached" in heard
    assert "not this one" in heard
    assert [(desk.work / f"made{number}").exists() for number in range(3)] == [True, False, True]

    assert upcall(desk, owner, "down").returncode == 0
    model.play(TOUCH[3], Say("That is all."))
    screen.prompt(
        "Once more.",
        lambda: any("Once more." in said for heard in model.conversations for said in heard.prompts),
    )
    screen.until(DIALOG)
    screen.press("\r", (desk.work / "made3").exists)
    # Its words are drawn letter by letter, with other things in between.
    model.wait_for(lambda heard: "Once more." in heard.prompts[-1] and len(heard.results) == len(TOUCH) + 1)


@pytest.mark.promise("raised/10")
def test_a_person_who_sits_there_is_shown_every_dialog_of_copilot_at_once(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    assert upcall(desk, owner, "away", "off").returncode == 0
    model.play(TOUCH[0], Say("All is done."))
    screen.prompt("Do the task.")
    screen.until(DIALOG)
    screen.press("\r", (desk.work / "made0").exists)
    model.wait_for(lambda heard: heard.results)
    owner.let_pass(1)


@pytest.mark.promise("raised/10")
def test_what_a_subagent_of_copilot_asks_is_decided_elsewhere_or_in_the_terminal_and_its_end_asks_nothing(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    def act(heard: Conversation) -> Turn:
        if any(SUBTASK in prompt for prompt in heard.prompts):
            return TOUCH[len(heard.results)] if len(heard.results) < 3 else Say("That was it.")
        words = {"description": "Make files", "name": "maker", "agent_type": "general-purpose"}
        return say_back(heard) if heard.results else Call("task", {**words, "prompt": SUBTASK})

    model.follow(act)
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt(TASK)
    for word in ("approve", "deny"):
        asked = owner.next_question(screen)
        assert (asked["asker"], asked["kind"]) == ("copilot in project", "approval")
        owner.answer(asked["ref"], word)
    typed = approved_in_the_terminal(screen, owner, desk)

    finished = owner.next_question(screen)
    assert [(desk.work / f"made{number}").exists() for number in range(3)] == [True, False, True]
    assert finished["session"] == typed["session"]
    assert "That was it." in finished["context"]


@pytest.mark.promise("raised/10")
def test_what_copilot_asked_stays_open_when_its_terminal_is_gone_and_no_run_begins(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    model.play(TOUCH[0], Say("Bye."))
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt("Do the task.")
    approval = owner.next_question(screen)
    screen.hang_up()
    screen.until_seen(lambda: not at_work_in(desk.work))
    assert owner.show(approval["id"])["state"] == "open"
    owner.answer(approval["ref"], "approve")
    answered = owner.show(approval["id"])
    assert (answered["answer"]["answers"], answered["answer"]["collected_at"]) == ([["Approve"]], None)
    assert owner.client.get("/v1/runs")["items"] == []
    assert not (desk.work / "made0").exists()

    # Nothing of the session is lost: its person takes it up in another terminal.
    with sitting_at(desk, f"--resume={approval['session']}") as again:
        again.prompt("Say bye.", lambda: not model.left)
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    assert any("Do the task." in prompt for prompt in told.prompts)


@pytest.mark.promise("raised/10")
def test_a_plan_of_copilot_is_decided_in_the_terminal_since_the_yes_of_a_hook_does_not_spare_its_dialog(
    model: Model, set_up: Desk, owner: Person
) -> None:
    hook = set_up.home / "plan-hook"
    hook.write_text(PLAN_HOOK)
    hook.chmod(0o700)
    entry = {"type": "command", "bash": str(hook), "matcher": "^exit_plan_mode$"}
    hooks = {"version": 1, "hooks": {"preToolUse": [entry]}}
    (set_up.home / ".copilot/hooks/plan.json").write_text(json.dumps(hooks), "utf-8")
    # Plan mode itself forbids what is not approved, so a yes could not be told as the reason of a no.
    model.play(PLAN, TOUCH[0], PLAN, Say("All is done."))
    assert upcall(set_up, owner, "away", "on").returncode == 0
    with sitting_at(set_up, "--plan") as screen:
        screen.prompt("Plan it.")
        screen.until("Plan Ready for Review", "Accept plan")
        heard = model.wait_for(lambda heard: len(heard.results) == 2)
        assert "not Redis" in heard.results[0]
        assert "Plan mode does not permit" in heard.results[1]
        owner.let_pass(1)
        screen.press("\r", lambda: not model.left)
