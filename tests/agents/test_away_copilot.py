"""Copilot CLI in a terminal that its person has left: its hooks come before its dialogs, and wait only while the person is away."""

from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import COPILOT, Desk, need
from tests.agents.screens import Screen
from tests.agents.script import Call, Say
from tests.agents.test_setup import upcall

ASK = Call("ask_user", {"question": "Which cache?", "choices": ["Redis", "Memcached"]})
TOUCH = [Call("bash", {"command": f"touch made{number}", "description": "x"}) for number in range(4)]
DIALOG = "Do you want to run this command?"


@pytest.fixture
def screen(desk: Desk, owner: Person) -> Iterator[Screen]:
    """Copilot CLI where `upcall setup copilot --away` was run, ready for a prompt."""
    need(COPILOT)
    done = upcall(desk, owner, "setup", "copilot", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    opened = Screen(desk, COPILOT)
    try:
        opened.until("commands", "help")
        yield opened
    finally:
        opened.close()


@pytest.mark.promise("raised/10")
def test_dialogs_of_copilot_go_to_people_while_away_and_without_a_daemon_all_is_as_before(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    model.play([Say("I need a cache."), ASK], *TOUCH[:3], Say("All is done."), Say("Bye."))
    assert upcall(desk, owner, "away", "on").returncode == 0
    screen.prompt("Do the task.")

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("copilot in project", "open")
    owner.answer(question["ref"], "Memcached")
    approval = owner.next_question(screen)
    assert owner.show(question["id"])["answer"]["collected_at"] is not None
    owner.answer(approval["ref"], "approve")
    denied = owner.next_question(screen)
    assert (desk.work / "made0").exists()
    owner.answer(denied["ref"], "deny", "--note", "not this one")

    # The first key ends the hook, and the dialog is there; while a space stands in its prompt, it may not come.
    typed = owner.next_question(screen)
    screen.press("\x7f", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    screen.until(DIALOG)
    screen.press("\r", (desk.work / "made2").exists)

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
