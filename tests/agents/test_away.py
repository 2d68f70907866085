"""Claude Code in a terminal that its person has left: its dialogs go to people elsewhere, and the first answer wins."""

from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.plans import SEARCH, SUBMIT, written
from tests.agents.programs import CLAUDE, Desk, need
from tests.agents.screens import Screen, settle_in
from tests.agents.script import Call, Say
from tests.agents.test_activity import observed
from tests.agents.test_setup import upcall

OPTIONS = [
    {"label": "Redis", "description": "has pub/sub"},
    {"label": "Memcached", "description": "is simple"},
]
QUESTION = {"question": "Which cache?", "header": "Cache", "options": OPTIONS, "multiSelect": False}
ASK = Call("AskUserQuestion", {"questions": [QUESTION]})


@pytest.fixture
def set_up(desk: Desk, owner: Person) -> Desk:
    """A desk where `upcall setup claude --away` was run."""
    need(CLAUDE)
    settle_in(desk)
    done = upcall(desk, owner, "setup", "claude", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    return desk


@pytest.fixture
def screen(set_up: Desk) -> Iterator[Screen]:
    """Claude Code, ready for a prompt."""
    opened = Screen(set_up, CLAUDE, "--permission-mode", "default")
    try:
        opened.until("for shortcuts")
        yield opened
    finally:
        opened.close()


@pytest.mark.promise("raised/4", "raised/5", "raised/8", "raised/21")
def test_dialogs_go_to_the_phone_and_the_first_answer_wins_wherever_it_is_given(
    model: Model, screen: Screen, owner: Person, set_up: Desk
) -> None:
    touch = [Call("Bash", {"command": f"touch made{number}", "description": "x"}) for number in range(3)]
    model.play([Say("I need a cache."), ASK], *touch, Say("All is done."), Say("Bye."))
    screen.prompt("Do the task.")

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("claude-code in project", "open")
    screen.until("Which cache?", "Memcached")
    owner.answer(question["ref"], "Memcached")
    screen.until("→ Memcached")

    approval = owner.next_question(screen)
    owner.collected(question["id"])
    owner.answer(approval["ref"], "approve", "--edit", "touch made9")
    typed = owner.next_question(screen)
    assert [(set_up.work / f"made{number}").exists() for number in (0, 9)] == [False, True]
    screen.until("touch made1", "Do you want to proceed?")
    screen.press("\r", (set_up.work / "made1").exists)
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    denied = owner.next_question(screen)
    # A key that Claude Code has dropped closes the card and leaves the dialog, which is asked about again.
    while "touch made1" in denied["questions"][0]["question"]:
        denied = owner.next_question(screen)
    owner.answer(denied["ref"], "deny")

    finished = owner.next_question(screen)
    assert not (set_up.work / "made2").exists()
    assert "All is done." in finished["context"]
    owner.answer(finished["ref"], "Say bye.")
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    assert "Memcached" in "".join(told.results)
    assert "-touch made0\n+touch made9" in "\n".join(told.prompts + told.results)
    assert owner.show(question["id"])["activity"]["message"] == "I need a cache."


@pytest.mark.promise("raised/9")
def test_a_session_whose_terminal_is_gone_goes_on_as_a_run_with_the_answer(
    model: Model, screen: Screen, owner: Person
) -> None:
    model.play(Say("All is done."), Say("Bye."))
    screen.prompt("Do the task.")
    finished = owner.next_question(screen)
    screen.hang_up()
    assert owner.show(finished["id"])["state"] == "open"
    owner.answer(finished["ref"], "Say bye.")

    model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    (run,) = owner.client.get("/v1/runs")["items"]
    assert run["agent"] == "claude"
    assert run["session"] == finished["session"]


@pytest.mark.promise("raised/6")
def test_with_the_daemon_down_a_dialog_works_as_if_nothing_were_installed(
    model: Model, screen: Screen, owner: Person, set_up: Desk
) -> None:
    assert upcall(set_up, owner, "down").returncode == 0
    model.play(Call("Bash", {"command": "touch made", "description": "x"}), Say("All is done."))
    screen.prompt("Do the task.")
    screen.until("touch made", "Do you want to proceed?")
    screen.press("\r", (set_up.work / "made").exists)
    screen.until("All is done.")


@pytest.mark.promise("raised/42", "raised/19", "raised/21")
def test_people_decide_what_the_owners_own_headless_session_may_do(
    model: Model, desk: Desk, owner: Person
) -> None:
    need(CLAUDE)
    done = upcall(desk, owner, "setup", "claude", "--permissions", "--yes")
    assert done.returncode == 0, done.stderr
    touch = [Call("Bash", {"command": f"touch made{number}", "description": "x"}) for number in range(2)]
    model.play(*touch, Say("All is done."))
    work = desk.start(CLAUDE, "-p", stdin="Do the task.")
    first = owner.next_question(work)
    owner.answer(first["ref"], "approve", "--edit", "touch made9", "--note", "hurry")
    owner.answer(owner.next_question(work)["ref"], "deny")

    assert work.end() == 0, work.report()
    assert [(desk.work / f"made{number}").exists() for number in (0, 1, 9)] == [False, False, True]
    told = "\n".join(model.conversations[-1].prompts + model.conversations[-1].results)
    assert "-touch made0\n+touch made9" in told
    assert "with a note: hurry" in told
    shown = upcall(desk, owner, "show", first["id"]).stdout
    assert "+touch made9" in shown
    assert owner.show(first["id"])["answer"]["edit"]["sha256"] in shown


@pytest.mark.promise("raised/2", "raised/5", "raised/11")
def test_the_plan_of_a_terminal_goes_to_people_and_is_decided_elsewhere(
    model: Model, set_up: Desk, owner: Person
) -> None:
    first, second, third = "1. Install Redis", "1. Install SQLite", "1. Write to a file"
    model.play([Say("I have a plan."), SEARCH])
    for plan in (first, second, third):
        model.play(written(plan), SUBMIT)
    model.play(Say("All is done."))
    screen = Screen(set_up, CLAUDE, "--permission-mode", "plan")
    try:
        screen.until("plan mode on")
        screen.prompt("Plan it.")
        asked = owner.next_question(screen)
        assert (asked["kind"], asked["context"], asked["asker"]) == ("plan", first, "claude-code in project")
        # What led to a question is read while it is open.
        assert observed(owner, asked["id"])["message"] == "I have a plan."
        owner.answer(asked["ref"], "revise", "> Redis\nSQLite is enough")
        model.wait_for(lambda heard: "> Redis\nSQLite is enough" in "".join(heard.results))

        again = owner.next_question(screen)
        assert again["plan"]["before"] == first
        # Esc leaves the plan in the terminal, and closes its card.
        screen.press("\x1b", lambda: owner.show(again["id"])["state"] != "open")
        assert owner.ended(again["id"])["resolution"]["via"] == "own_terminal"

        screen.prompt("Think again.")
        last = owner.next_question(screen)
        assert (last["context"], last["plan"]["before"]) == (third, second)
        owner.answer(last["ref"], "approve")
        model.wait_for(lambda heard: "User has approved your plan" in "".join(heard.results))
    finally:
        screen.close()
