"""The picker's state: keys in, what is shown and what is to be done out. It neither draws nor makes requests.

A key acts only on what the person had on the screen when they pressed it: see `Picker.refresh` and `Choosing.whole`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from upcall.cli.picker.keys import (
    BACKSPACE,
    CLEAR,
    DOWN,
    ENTER,
    ESCAPE,
    PAGE_DOWN,
    PAGE_UP,
    SPACE,
    UP,
    is_text,
)

Inquiry = dict[str, Any]


APPROVE = "Approve"
CALM_SECONDS = 0.8
"""Seconds without effect of the keys that open or reject, after a change of the list that the person did not make."""

NOWHERE = -1
"""Where the cursor of an approval begins: on neither choice."""


class Send(NamedTuple):
    """Answer an inquiry: for each question a list of values, and as which rule an approval is remembered, if it is."""

    inquiry: Inquiry
    answers: list[list[str]]
    remember: str = ""


class Decline(NamedTuple):
    """Reject an inquiry."""

    inquiry: Inquiry
    reason: str


class Leave(NamedTuple):
    """Close the picker."""


PickerAction = Send | Decline | Leave


@dataclass(slots=True, kw_only=True)
class SettledMeanwhile:
    """An inquiry that was settled while a person was at it: what they had written, and `how` it ended once that is known."""

    inquiry: Inquiry
    written: str
    how: str = "was settled meanwhile"


class Choosing:
    """One inquiry being answered, question by question."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.given: list[list[str]] = []
        self.remember = ""
        self.whole = False
        """Whether its end has been on the screen; what draws the screen says so."""
        self._begin()

    def _begin(self) -> None:
        self.cursor = NOWHERE if self.is_approval else 0
        self.scroll = 0
        self.chosen: set[int] = set()
        self.typed = ""
        self.typing = not self.options

    @property
    def is_approval(self) -> bool:
        """Whether it asks for a yes or a no."""
        return bool(self.inquiry["kind"] == "approval")

    @property
    def question(self) -> dict[str, Any]:
        """The question that is to be answered now."""
        question: dict[str, Any] = self.inquiry["questions"][len(self.given)]
        return question

    @property
    def options(self) -> list[dict[str, Any]]:
        """The choices it offers."""
        options: list[dict[str, Any]] = self.question["options"]
        return options

    @property
    def multi(self) -> bool:
        """Whether several may be chosen."""
        return bool(self.question["multiSelect"])

    @property
    def custom(self) -> bool:
        """Whether one's own words are an answer too."""
        return bool(self.question["custom"]) or not self.options

    @property
    def rows(self) -> int:
        """The options, and one more for one's own words."""
        return len(self.options) + (self.custom and bool(self.options))

    @property
    def ways(self) -> list[str]:
        """The rules that an approval can be remembered as, the narrowest first."""
        ways: list[str] = (self.inquiry.get("action") or {}).get("remember", [])
        return ways

    def remember_more(self) -> None:
        """Remember the approval by the next wider rule; after the widest, not at all."""
        every = ["", *self.ways]
        self.remember = every[(every.index(self.remember) + 1) % len(every)]

    def move(self, step: int) -> None:
        """Go up or down; on the last row, words can be typed."""
        if self.rows:
            self.cursor = self.rows - 1 if self.cursor + step < 0 else (self.cursor + step) % self.rows
            self.typing = self.cursor >= len(self.options)

    def toggle(self, number: int) -> None:
        """Choose an option, or not after all."""
        self.chosen ^= {number}
        self.cursor = number

    def write(self, text: str) -> None:
        """Add to one's own words."""
        self.typed += text
        self.typing = True
        self.cursor = len(self.options)

    def accept(self, values: list[str]) -> list[list[str]] | None:
        """Take the answer to this question; all of them once this was the last."""
        self.given.append(values)
        if len(self.given) == len(self.inquiry["questions"]):
            return self.given
        self._begin()
        return None

    def values(self) -> list[str]:
        """The answer that Enter would send."""
        own = [self.typed.strip()] if self.typed.strip() else []
        if self.multi:
            return [self.options[number]["label"] for number in sorted(self.chosen)] + own
        if self.typing:
            return own
        return [] if self.cursor == NOWHERE else [self.options[self.cursor]["label"]]


class Picker:
    """The list of open questions, and the one that is being answered."""

    def __init__(self, inquiries: list[Inquiry], clock: Callable[[], float] = time.monotonic) -> None:
        self.inquiries = inquiries
        self.cursor = 0
        self.choosing: Choosing | None = None
        self.declining: tuple[Inquiry, str] | None = None
        self.closed: SettledMeanwhile | None = None
        self.note = ""
        self._clock = clock
        self._calm_at = clock()

    def refresh(self, inquiries: list[Inquiry], done: str = "") -> None:
        """Take in what waits now; `done` is the id of what this person has just settled.

        The cursor stays on its inquiry. Where others have settled that one, the cursor is on none until this person moves
        it, and an inquiry that was being answered stays on the screen, closed, until Escape.
        """
        known = [inquiry["id"] for inquiry in self.inquiries if inquiry["id"] != done]
        before = self._selected()
        self.inquiries = inquiries
        ids = [inquiry["id"] for inquiry in inquiries]
        if before is not None and before["id"] in ids:
            self.cursor = ids.index(before["id"])
        elif before is None or before["id"] != done:
            self.cursor = NOWHERE
        self.cursor = min(self.cursor, len(inquiries) - 1)
        if ids != known:
            self._calm_at = self._clock() + CALM_SECONDS
        busy = self.choosing.inquiry if self.choosing else self.declining[0] if self.declining else None
        if busy is not None and busy["id"] not in ids:
            self.closed = SettledMeanwhile(inquiry=busy, written=self._written())
            self.choosing = self.declining = None

    def open(self, ref: str) -> bool:
        """Open an inquiry by its ref or id; False when it does not wait."""
        for number, inquiry in enumerate(self.inquiries):
            if ref in {inquiry["ref"], inquiry["id"]}:
                self.cursor, self.choosing = number, Choosing(inquiry)
                return True
        return False

    def press(self, key: str) -> PickerAction | None:
        """Take a key; returns what is to be done now, if anything."""
        self.note = ""
        if self.closed is not None:
            # What is still being typed was meant for that question, and for no other.
            if key == ESCAPE:
                self.closed = None
            return None
        if key in {PAGE_UP, PAGE_DOWN} and self.choosing is not None:
            self.choosing.scroll += 1 if key == PAGE_DOWN else -1
            return None
        if self.declining is not None:
            return self._press_declining(self.declining[0], self.declining[1], key)
        if self.choosing is None:
            return self._press_list(key)
        if self.choosing.typing:
            return self._press_typing(self.choosing, key)
        return self._press_choosing(self.choosing, key)

    def _press_list(self, key: str) -> PickerAction | None:
        inquiry = self._selected()
        if key in {"q", ESCAPE}:
            return Leave()
        if key in {UP, DOWN, "j", "k"} and self.inquiries:
            step = 1 if key in {DOWN, "j"} else -1
            self.cursor = max(self.cursor + step, NOWHERE) % len(self.inquiries)
        elif inquiry is None:
            self.note = "Choose a question with ↑↓ first." if self.inquiries else ""
        elif key in {ENTER, "r"} and self._clock() < self._calm_at:
            self.note = "The list changed just now: look, then press the key again."
        elif key == ENTER:
            self.choosing = Choosing(inquiry)
        elif key == "r":
            self.declining = (inquiry, "")
        return None

    def _press_choosing(self, choosing: Choosing, key: str) -> PickerAction | None:
        options = len(choosing.options)
        if key in {UP, DOWN, "j", "k"}:
            choosing.move(1 if key in {DOWN, "j"} else -1)
        elif key == ENTER:
            return self._accept(choosing)
        elif key in {"q", ESCAPE}:
            self.choosing = None
        elif key == "r":
            self.declining = (choosing.inquiry, "")
        elif key == SPACE and choosing.multi:
            choosing.toggle(choosing.cursor)
        elif key == "a" and choosing.ways:
            choosing.remember_more()
        elif key.isascii() and key.isdigit() and 1 <= int(key) <= options:
            return self._number(choosing, int(key) - 1)
        elif key == "0" and options == 10:
            return self._number(choosing, 9)
        elif is_text(key) and key != SPACE:
            self._write(choosing, key)
        return None

    def _number(self, choosing: Choosing, number: int) -> PickerAction | None:
        if choosing.multi:
            choosing.toggle(number)
            return None
        before, choosing.cursor = choosing.cursor, number
        deed = self._accept(choosing)
        if choosing.is_approval and deed is None:
            choosing.cursor = before
        return deed

    def _press_typing(self, choosing: Choosing, key: str) -> PickerAction | None:
        if key == ENTER:
            return self._accept(choosing)
        if key in {UP, DOWN} and choosing.options:
            choosing.move(1 if key == DOWN else -1)
        elif key == ESCAPE and choosing.options:
            choosing.typed = ""
            choosing.move(1)
        elif key == ESCAPE:
            self.choosing = None
        else:
            choosing.typed = edited(choosing.typed, key)
        return None

    def _press_declining(self, inquiry: Inquiry, reason: str, key: str) -> PickerAction | None:
        if key == ESCAPE:
            self.declining = None
        elif key == ENTER:
            self.declining = self.choosing = None
            return Decline(inquiry, reason.strip())
        else:
            self.declining = (inquiry, edited(reason, key))
        return None

    def _write(self, choosing: Choosing, text: str) -> None:
        if choosing.custom:
            choosing.write(text)
        else:
            self.note = "Only these options; choose one by its number."

    def _accept(self, choosing: Choosing) -> PickerAction | None:
        values = choosing.values()
        if not values:
            self.note = _missing(choosing)
            return None
        if choosing.is_approval and values == [APPROVE] and not choosing.whole:
            self.note = "Read it to its end before you approve it: PgDn."
            return None
        answers = choosing.accept(values)
        if answers is None:
            return None
        self.choosing = None
        return Send(choosing.inquiry, answers, choosing.remember if answers == [[APPROVE]] else "")

    def _selected(self) -> Inquiry | None:
        return self.inquiries[self.cursor] if 0 <= self.cursor < len(self.inquiries) else None

    def _written(self) -> str:
        if self.declining is not None:
            return self.declining[1]
        return self.choosing.typed if self.choosing is not None else ""


def _missing(choosing: Choosing) -> str:
    if choosing.is_approval:
        return "Choose first: 1 or ↓ to approve, 2 or ↑ to deny."
    return "Choose with space first." if choosing.multi and not choosing.typing else "Type an answer first."


def edited(text: str, key: str) -> str:
    """A line of text after a key."""
    if key == BACKSPACE:
        return text[:-1]
    if key == CLEAR:
        return ""
    return text + key if is_text(key) else text
