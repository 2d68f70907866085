"""Deciding with a text of one's own in the picker: a changed action, and comments on a plan."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.cli.test_picker import SURE, a_question, an_inquiry, pressed, shown
from tests.cli.test_terminal import Terminal, home
from upcall.cli.client import ASKER, Client
from upcall.cli.failures import CommandFailed
from upcall.cli.picker.actions import Change, Send
from upcall.cli.picker.changing import CUT, changed, draft_of
from upcall.cli.picker.editor import HINT, written_in_editor
from upcall.cli.picker.keys import ENTER, ESCAPE, PAGE_DOWN, TAB
from upcall.cli.picker.picker import Picker
from upcall.domain.errors import NotEditable
from upcall.home.files import Home

__all__ = ["home"]

CLEAN = {"command": "rm -rf build dist", "timeout": 5}
LESS = {**CLEAN, "command": "rm -rf build"}
PLAN = "# Cache\n\n1. Install Redis"
DECISIONS = ("Approve", "Revise", "Approve and accept edits", "Reject")


def an_action(given: Mapping[str, object] = CLEAN, *, runs: bool = True) -> dict[str, Any]:
    action = {"input": given, "runs_edited": runs, "remember": ["exact"], "prefix": ""}
    return an_inquiry("a7", SURE, kind="approval", action=action)


def a_plan(before: str | None = None) -> dict[str, Any]:
    question = a_question("Shall this plan be carried out?", *DECISIONS)
    return an_inquiry("a7", question, kind="plan", context=PLAN, plan={"difference": before})


def written(inquiry: dict[str, Any], text: str) -> Picker:
    """A picker in which the editor has left this text."""
    picker = Picker([inquiry])
    pressed(picker, ENTER)
    shown(picker)
    assert pressed(picker, TAB, "c") == Change(inquiry)
    assert picker.choosing is not None
    picker.choosing.written = text
    picker.changing = changed(inquiry, text)
    return picker


@pytest.mark.promise("raised/18")
def test_a_changed_action_is_sent_after_its_difference_was_on_the_screen() -> None:
    inquiry = an_action()
    picker = written(inquiry, draft_of(inquiry).replace(" dist", ""))
    # A key that was pressed before it could be seen sends nothing.
    assert pressed(picker, ENTER) is None
    lines = shown(picker)
    assert "Approve #a7 as changed?" in lines
    assert "-rm -rf build dist\n+rm -rf build\n" in lines
    assert "timeout" not in lines
    assert pressed(picker, "x", "1", "y") is None
    assert pressed(picker, ENTER) == Send(inquiry, [["Approve"]], input=LESS)
    # A refusal of the daemon loses nothing of it.
    picker.open("a7")
    assert picker.choosing is not None
    assert picker.choosing.written


def test_a_changed_action_is_given_up_or_changed_again() -> None:
    inquiry = an_action(runs=False)
    picker = written(inquiry, draft_of(inquiry).replace(" dist", ""))
    assert "Deny #a7, and suggest this?" in shown(picker)
    assert pressed(picker, "c") == Change(inquiry)
    assert pressed(picker, ESCAPE) is None
    assert picker.changing is None
    assert "Deny" in shown(picker)


def test_an_action_that_was_not_read_to_its_end_is_not_changed() -> None:
    inquiry = an_action()
    inquiry["questions"] = [SURE | {"question": "\n".join(f"step {number}" for number in range(50))}]
    picker = Picker([inquiry])
    pressed(picker, ENTER)
    shown(picker)
    assert pressed(picker, TAB, "c") is None
    assert "PgDn" in picker.note
    for _ in range(5):
        pressed(picker, PAGE_DOWN)
        shown(picker)
    assert pressed(picker, TAB, "c") == Change(inquiry)


def test_what_cannot_be_changed_has_no_key_for_it() -> None:
    for inquiry in (an_inquiry("a7", SURE, kind="approval"), an_inquiry("a7", a_question("Which?", "A"))):
        picker = Picker([inquiry])
        pressed(picker, ENTER)
        shown(picker)
        assert pressed(picker, TAB, "c") is None
        assert picker.note.startswith("No action has that key")


@pytest.mark.promise("raised/13")
def test_comments_on_a_plan_are_written_beside_it_and_send_it_back() -> None:
    inquiry = a_plan()
    draft = draft_of(inquiry)
    assert "3 │ 1. Install Redis" in draft.partition(CUT)[2]
    picker = written(inquiry, f"L3: SQLite\n\n> Cache\nwhich?\n{draft}")
    assert "Send #a7 back with this?\n\nL3: SQLite\n\n> Cache\nwhich?" in shown(picker)
    assert pressed(picker, ENTER) == Send(inquiry, [["L3: SQLite\n\n> Cache\nwhich?"]])
    assert changed(inquiry, draft) is None


@pytest.mark.promise("raised/15")
def test_a_plan_that_comes_again_shows_what_has_changed() -> None:
    picker = Picker([a_plan("-1. Install Redis\n+1. Install SQLite")])
    pressed(picker, ENTER)
    assert "Changed since the plan before:\n-1. Install Redis\n+1. Install SQLite" in shown(picker)


def test_what_was_changed_is_kept_in_view_when_the_question_closes() -> None:
    inquiry = an_action()
    picker = written(inquiry, draft_of(inquiry).replace(" dist", ""))
    picker.refresh([])
    assert picker.changing is None
    assert "+rm -rf build" in shown(picker)


@pytest.mark.parametrize(
    "given",
    [
        {"command": "make"},
        {"command": "cat <<E\n=== command\n\nE\n", "timeout": 5},
        {"a": "", "b": "\n", "c": [1, {"x": None}]},
        {"=== b": "1", "b": "==== b\n=== c"},
    ],
)
def test_a_draft_that_is_left_as_it_is_changes_nothing(given: dict[str, object]) -> None:
    inquiry = an_action(given)
    assert changed(inquiry, draft_of(inquiry)) is None


def test_a_field_that_is_not_of_its_type_is_named() -> None:
    inquiry = an_action()
    with pytest.raises(NotEditable, match="timeout"):
        changed(inquiry, draft_of(inquiry).replace("5", "soon"))


@pytest.mark.promise("raised/18", "raised/19")
def test_on_a_terminal_an_action_is_changed_in_ones_own_editor(home: Program) -> None:
    agent = Client(ASKER, Home(home.home))
    action = {"tool": "Bash", "input": CLEAN, "cwd": "/srv/shop", "editable": True}
    ref = agent.post("/v1/inquiries", {"action": action})["ref"]
    agent.hang_up()
    with Terminal(home, "answer", ref, EDITOR="sed -i 's/ dist//'", VISUAL="") as terminal:
        terminal.until("2. Deny")
        terminal.type("\tc")
        terminal.until("+rm -rf build")
        terminal.type("\r")
        terminal.until(f"Answered {ref}: Approve, edited.")
        terminal.type("q")
        assert terminal.end() == 0
        # The screen was lent, and is given back as it was.
        assert terminal.seen.count("\x1b[?1049l") == 2
    assert home.json("show", ref)["answer"]["edit"]["input"] == LESS


@pytest.mark.parametrize("editor", ["rm", "nano '", "/nowhere/nano", "false"])
def test_an_editor_that_leaves_no_text_is_told_in_a_line(
    editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    with pytest.raises(CommandFailed) as failed:
        written_in_editor("make", "action.txt")
    assert failed.value.hint == HINT


def test_an_editor_that_fails_takes_nothing_and_says_what_to_do(home: Program) -> None:
    agent = Client(ASKER, Home(home.home))
    action = {"tool": "Bash", "input": CLEAN, "cwd": "/srv/shop", "editable": True}
    ref = agent.post("/v1/inquiries", {"action": action})["ref"]
    agent.hang_up()
    with Terminal(home, "answer", ref, EDITOR="false", VISUAL="") as terminal:
        terminal.until("2. Deny")
        terminal.type("\tc")
        terminal.until("set EDITOR")
        terminal.type("\x1b")
        terminal.until("WAITING FOR INPUT")
        terminal.type("q")
        assert terminal.end() == 0
    assert home.json("show", ref)["state"] == "open"
