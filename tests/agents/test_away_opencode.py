"""opencode in a terminal that its person has left: its dialogs go to people elsewhere, and the first answer wins."""

import json
from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import OPENCODE, Desk, need
from tests.agents.screens import Screen
from tests.agents.script import Call, Conversation, Say, Turn
from tests.agents.stories import SUBTASK, TASK, delegate
from tests.agents.test_setup import upcall

CACHES = [{"label": "Redis", "description": "x"}, {"label": "Memcached", "description": "y"}]
ASK = Call("question", {"questions": [{"question": "Which cache?", "header": "Cache", "options": CACHES}]})
ASKING = {"permission": {"bash": "ask"}}


@pytest.fixture
def screen(desk: Desk, owner: Person) -> Iterator[Screen]:
    """opencode where `upcall setup opencode --away` was run, ready for a prompt."""
    need(OPENCODE)
    done = upcall(desk, owner, "setup", "opencode", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    opened = Screen(desk, OPENCODE, OPENCODE_CONFIG_CONTENT=json.dumps(ASKING))
    try:
        opened.until("Ask anything")
        yield opened
    finally:
        opened.close()


@pytest.mark.promise("raised/10")
def test_dialogs_of_opencode_go_to_the_phone_the_first_answer_wins_and_without_a_daemon_all_is_as_before(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    touch = [Call("bash", {"command": f"touch made{number}", "description": "x"}) for number in range(4)]
    model.play([Say("I need a cache."), ASK], *touch, Say("All is done."), Say("Bye."))
    screen.prompt("Do the task.")

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("opencode in project", "open")
    screen.until("Which cache?", "Memcached")
    owner.answer(question["ref"], "Memcached")

    approval = owner.next_question(screen)
    owner.collected(question["id"])
    owner.answer(approval["ref"], "approve", "--note", "hurry")
    typed = owner.next_question(screen)
    assert (desk.work / "made0").exists()
    # Of a dialog like the one before, opencode draws only what is different.
    screen.press("\r", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    denied = owner.next_question(screen)
    assert (desk.work / "made1").exists()
    owner.answer(denied["ref"], "deny", "--note", "not this one")

    last = owner.next_question(screen)
    assert not (desk.work / "made2").exists()
    owner.answer(last["ref"], "approve")
    finished = owner.next_question(screen)
    assert "All is done." in finished["context"]
    owner.answer(finished["ref"], "Say bye.")
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    heard = "\n".join(told.prompts + told.results)
    assert "Memcached" in heard
    assert "hurry" in heard
    assert "not this one" in heard

    assert upcall(desk, owner, "down").returncode == 0
    model.play(Call("bash", {"command": "touch made4", "description": "x"}), Say("That is all."))
    screen.prompt("Once more.")
    screen.press("\r", (desk.work / "made4").exists)
    screen.until("That is all.")


@pytest.mark.promise("raised/9", "raised/10")
def test_a_session_of_opencode_whose_terminal_is_gone_goes_on_as_a_run_with_the_answer(
    model: Model, screen: Screen, owner: Person
) -> None:
    model.play(Say("All is done."), Say("Bye."))
    screen.prompt("Do the task.")
    finished = owner.next_question(screen)
    screen.hang_up()
    assert owner.show(finished["id"])["state"] == "open"
    owner.answer(finished["ref"], "Say bye.")

    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    assert any("Do the task." in prompt for prompt in told.prompts)
    (run,) = owner.client.get("/v1/runs")["items"]
    assert run["agent"] == "opencode"
    assert run["session"] == finished["session"]


@pytest.mark.promise("raised/10")
def test_what_a_subagent_of_opencode_asks_is_decided_elsewhere_or_in_the_terminal(
    model: Model, screen: Screen, owner: Person, desk: Desk
) -> None:
    def act(heard: Conversation) -> Turn:
        if any(SUBTASK in prompt for prompt in heard.prompts) and len(heard.results) < 3:
            command = f"touch made{len(heard.results)}"
            return Call("bash", {"command": command, "description": "x"})
        return delegate(heard)

    model.follow(act)
    screen.prompt(TASK)
    for word in ("approve", "deny"):
        asked = owner.next_question(screen)
        assert (asked["asker"], asked["kind"]) == ("opencode in project", "approval")
        owner.answer(asked["ref"], word)
    typed = owner.next_question(screen)
    screen.press("\r", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"

    finished = owner.next_question(screen)
    assert [(desk.work / f"made{number}").exists() for number in range(3)] == [True, False, True]
    assert finished["session"] == typed["session"]
    assert "I was told" in finished["context"]
