"""An inquiry that is decided with a text of its person: an action that they have changed, or a plan with their comments.

The text is written in an editor, in the form that `draft_of` gives it. What would be sent is shown once more before it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from upcall.cli.picker.actions import Change, PickerAction, Send
from upcall.cli.picker.keys import ENTER, ESCAPE, PAGE_DOWN, PAGE_UP
from upcall.cli.render.plans import numbered
from upcall.domain.approval.editing import difference, from_text, in_text
from upcall.domain.inquiry.inquiry import APPROVE

Inquiry = dict[str, Any]

CUT = "------ write above this line ------"
GUIDE = "What should change? `L3: …` is about line 3, `> …` quotes a passage, and anything else is about the whole plan."


@dataclass(slots=True, kw_only=True)
class Changing:
    """What was written, before it is sent. It is sent after its end has been on the screen."""

    inquiry: Inquiry
    input: dict[str, Any] | None = None
    """The changed action; None where it is comments."""
    comments: str = ""
    scroll: int = 0
    whole: bool = False
    note: str = ""

    @property
    def runs(self) -> bool:
        """Whether the program of the asker can run a changed action."""
        return bool((self.inquiry.get("action") or {}).get("runs_edited"))

    @property
    def text(self) -> str:
        """What is shown of it: how the action differs, or the comments."""
        if self.input is None:
            return self.comments
        return difference(given_in(self.inquiry), self.input)

    def press(self, key: str) -> PickerAction | None:
        """Take a key; Escape, which gives it up, is not for here."""
        self.note = ""
        if key in {PAGE_DOWN, PAGE_UP}:
            self.scroll += 1 if key == PAGE_DOWN else -1
        elif key == "c":
            return Change(self.inquiry)
        elif key == ENTER and not self.whole:
            self.note = "Read it to its end first: PgDn."
        elif key == ENTER:
            value = self.comments if self.input is None else APPROVE
            return Send(self.inquiry, [[value]], input=self.input)
        elif key != ESCAPE:
            self.note = "Enter sends it, c changes it again, Esc goes back."
        return None


def given_in(inquiry: Inquiry) -> Mapping[str, Any]:
    """The fields of an action; none where it cannot be changed."""
    given: Mapping[str, Any] | None = (inquiry.get("action") or {}).get("input")
    return given or {}


def can_change(inquiry: Inquiry) -> bool:
    """Whether a text of its person can decide it."""
    return inquiry["kind"] == "plan" or (inquiry["kind"] == "approval" and bool(given_in(inquiry)))


def draft_of(inquiry: Inquiry) -> str:
    """What the editor begins with: the fields of the action, or room for comments above the plan."""
    if inquiry["kind"] == "plan":
        return "\n".join(["", CUT, GUIDE, "", *numbered(inquiry["context"]), ""])
    texts = {name: in_text(value) for name, value in given_in(inquiry).items()}
    if len(texts) == 1:
        return f"{next(iter(texts.values()))}\n"
    lead = _lead(texts)
    return "".join(f"{lead} {name}\n{text}\n" for name, text in texts.items())


def changed(inquiry: Inquiry, written: str) -> Changing | None:
    """What a person has made of the draft; None if they have changed nothing.

    Raises:
        NotEditable: if a field is missing or not of its type.
    """
    if inquiry["kind"] == "plan":
        comments = written.partition(CUT)[0].strip()
        return Changing(inquiry=inquiry, comments=comments) if comments else None
    given = given_in(inquiry)
    texts = {name: in_text(value) for name, value in given.items()}
    wanted = dict(from_text(given, _fields(texts, written)))
    return None if wanted == given else Changing(inquiry=inquiry, input=wanted)


def _lead(texts: Mapping[str, str]) -> str:
    """What stands before the name of a field, and begins no line of any."""
    lead = "==="
    while any(line.startswith(lead) for text in texts.values() for line in text.split("\n")):
        lead += "="
    return lead


def _fields(texts: Mapping[str, str], written: str) -> dict[str, str]:
    """The texts of the fields; one whose heading is gone stays as it was."""
    if len(texts) == 1:
        return {name: _without_end(written) for name in texts}
    lead, found = _lead(texts), dict[str, list[str]]()
    name = ""
    for line in _without_end(written).split("\n"):
        if line.startswith(f"{lead} ") and line[len(lead) + 1 :] in texts:
            name = line[len(lead) + 1 :]
            found[name] = []
        elif name:
            found[name].append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _without_end(written: str) -> str:
    """Editors end a file with the end of a line."""
    return written.removesuffix("\n")
