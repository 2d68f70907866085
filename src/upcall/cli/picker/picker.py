"""The picker's state: keys in, what is shown and what is to be done out. It neither draws nor makes requests.

A key acts only on what the person had on the screen when they pressed it: see `Picker.refresh` and `Choosing.whole`. No word
that a person types is a shortcut: letters move the cursor at most, and what acts on a question stands behind Tab.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from upcall.cli.picker.choosing import NOWHERE, Choosing, Inquiry
from upcall.cli.picker.keys import (
    BACKSPACE,
    CLEAR,
    DOWN,
    ENTER,
    ESCAPE,
    PAGE_DOWN,
    PAGE_UP,
    TAB,
    UP,
    is_text,
)
from upcall.cli.render.inquiries import asker

APPROVE = "Approve"
CALM_SECONDS = 0.8
"""Seconds without effect of the keys that open or act, after a change of the list that the person did not make."""


class Send(NamedTuple):
    """Answer an inquiry: for each question a list of values, and as which rule an approval is remembered, if it is.

    A `quick` one was chosen and sent with one key, and can be undone for some seconds.
    """

    inquiry: Inquiry
    answers: list[list[str]]
    remember: str = ""
    quick: bool = False


class Decline(NamedTuple):
    """Reject an inquiry."""

    inquiry: Inquiry
    reason: str


class Extend(NamedTuple):
    """Give an inquiry more time."""

    inquiry: Inquiry


class Undo(NamedTuple):
    """Take back what was decided about an inquiry just now."""

    inquiry: Inquiry


class Leave(NamedTuple):
    """Close the picker."""


PickerAction = Send | Decline | Extend | Undo | Leave


@dataclass(slots=True, kw_only=True)
class SettledMeanwhile:
    """An inquiry that was settled while a person was at it: what they had written, and `how` it ended once that is known."""

    inquiry: Inquiry
    written: str
    how: str = "was settled meanwhile"


class Picker:
    """The list of open questions, and the one that is being answered."""

    def __init__(self, inquiries: list[Inquiry], clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting = inquiries
        self.cursor = 0
        self.choosing: Choosing | None = None
        self.declining: tuple[Inquiry, str] | None = None
        self.closed: SettledMeanwhile | None = None
        self.acting = False
        """Whether Tab was pressed: the next letter names an action."""
        self.helping = False
        self.search: str | None = None
        """What is being searched for, while it is typed."""
        self.sought = ""
        self.note = ""
        self._decided: tuple[Inquiry, float] | None = None
        self._clock = clock
        self._calm_at = clock()

    @property
    def inquiries(self) -> list[Inquiry]:
        """The inquiries of the list: those that wait, as far as they are sought."""
        words = self.sought.casefold().split()
        return [inquiry for inquiry in self.waiting if all(word in _searched(inquiry) for word in words)]

    def refresh(self, inquiries: list[Inquiry], done: str = "") -> None:
        """Take in what waits now; `done` is the id of what this person has just settled.

        The cursor stays on its inquiry. Where others have settled that one, the cursor is on none until this person moves
        it, and an inquiry that was being answered stays on the screen, closed, until Escape.
        """
        known = [inquiry["id"] for inquiry in self.inquiries if inquiry["id"] != done]
        before = self._selected()
        self.waiting = inquiries
        ids = [inquiry["id"] for inquiry in self.inquiries]
        if before is not None and before["id"] in ids:
            self.cursor = ids.index(before["id"])
        elif before is None or before["id"] != done:
            self.cursor = NOWHERE
        self.cursor = min(self.cursor, len(ids) - 1)
        if ids != known:
            self._calm_at = self._clock() + CALM_SECONDS
            self.acting = self.acting and self.choosing is not None
        busy = self.choosing.inquiry if self.choosing else self.declining[0] if self.declining else None
        if busy is not None and busy["id"] not in {inquiry["id"] for inquiry in inquiries}:
            self.closed = SettledMeanwhile(inquiry=busy, written=self._written())
            self.choosing = self.declining = None
            self.acting = False

    def open(self, ref: str) -> bool:
        """Open an inquiry by its ref or id; False when it does not wait."""
        for number, inquiry in enumerate(self.inquiries):
            if ref in {inquiry["ref"], inquiry["id"]}:
                self.cursor, self.choosing = number, Choosing(inquiry)
                return True
        return False

    def hold(self, inquiry: Inquiry, seconds: float) -> None:
        """Offer to undo what this person has just decided, until its asker is told."""
        self._decided = (inquiry, self._clock() + seconds)

    @property
    def undoable(self) -> Inquiry | None:
        """The inquiry that was decided last, as long as that can be undone."""
        return self._decided[0] if self._decided is not None and self._clock() < self._decided[1] else None

    @property
    def actions(self) -> dict[str, str]:
        """The letters that act after Tab, and what each does."""
        found = {}
        if self.undoable is not None:
            found["u"] = f"undo #{self.undoable['ref']}"
        if self.choosing is None and self._selected() is None:
            return found
        if self.choosing is not None and self.choosing.recommended is not None:
            found["y"] = "take the recommended"
        if self.choosing is not None and self.choosing.ways:
            found["a"] = "remember"
        return found | {"r": "reject", "e": "24 h more time"}

    def press(self, key: str) -> PickerAction | None:
        """Take a key; returns what is to be done now, if anything."""
        self.note = ""
        if self.closed is not None:
            # What is still being typed was meant for that question, and for no other.
            if key == ESCAPE:
                self.closed = None
            return None
        if self.helping:
            self.helping = key not in {ESCAPE, "?", "q"}
            return None
        if key in {PAGE_UP, PAGE_DOWN} and self.choosing is not None:
            self.choosing.scroll += 1 if key == PAGE_DOWN else -1
            return None
        if self.declining is not None:
            return self._press_declining(self.declining[0], self.declining[1], key)
        if self.acting:
            return self._press_acting(key)
        return self._press_question(self.choosing, key) if self.choosing else self._press_list(key)

    def _press_list(self, key: str) -> PickerAction | None:
        if self.search is not None:
            self._press_search(self.search, key)
        elif key == ESCAPE and self.sought:
            self._seek("")
        elif key in {"q", ESCAPE}:
            return Leave()
        elif key == "/":
            self.search = self.sought
        elif key == "?":
            self.helping = True
        elif key in {UP, DOWN, "j", "k"} and self.inquiries:
            step = 1 if key in {DOWN, "j"} else -1
            self.cursor = max(self.cursor + step, NOWHERE) % len(self.inquiries)
        else:
            self._press_selected(self._selected(), key)
        return None

    def _press_selected(self, inquiry: Inquiry | None, key: str) -> None:
        if key == TAB and self.undoable is not None:
            self.acting = True
        elif inquiry is None:
            self.note = "Choose a question with ↑↓ first." if self.inquiries else ""
        elif is_text(key):
            self.note = "Enter opens the question; words are typed there."
        elif self._clock() < self._calm_at:
            self.note = "The list changed just now: look, then press the key again."
        elif key == ENTER:
            self.choosing = Choosing(inquiry)
        elif key == TAB:
            self.acting = True

    def _press_search(self, search: str, key: str) -> None:
        if key in {ENTER, ESCAPE}:
            self.search = None
            self._seek(search if key == ENTER else "")
        else:
            self.search = edited(search, key)
            self._seek(self.search)

    def _seek(self, words: str) -> None:
        before = self._selected()
        self.sought = words
        ids = [inquiry["id"] for inquiry in self.inquiries]
        self.cursor = ids.index(before["id"]) if before is not None and before["id"] in ids else 0

    def _press_acting(self, key: str) -> PickerAction | None:
        inquiry = self.choosing.inquiry if self.choosing else self._selected()
        if key in {ESCAPE, TAB} or not self.actions:
            self.acting = False
            return None
        if key == "u" and (decided := self.undoable) is not None:
            self.acting, self._decided = False, None
            return Undo(decided)
        if inquiry is None or key not in self.actions:
            self.note = "No action has that key; Esc goes back."
            return None
        # Going through the rules takes the same key several times.
        self.acting = key == "a"
        if key == "r":
            self.declining = (inquiry, "")
        elif key == "e":
            return Extend(inquiry)
        elif self.choosing is not None and key == "a":
            self.choosing.remember_more()
        elif self.choosing is not None and self.choosing.recommended is not None:
            self.choosing.recommend(self.choosing.recommended)
            sent = self._accept(self.choosing)
            return sent._replace(quick=True) if isinstance(sent, Send) else sent
        return None

    def _press_question(self, choosing: Choosing, key: str) -> PickerAction | None:
        if key == ENTER:
            return self._accept(choosing)
        if key == TAB:
            self.acting = True
        elif key == ESCAPE and choosing.typing and choosing.options:
            choosing.typed = ""
            choosing.move(1)
        elif key == ESCAPE:
            self.choosing = None
        elif key in {UP, DOWN} or (key in {"j", "k"} and not choosing.custom):
            choosing.move(1 if key in {DOWN, "j"} else -1)
        elif choosing.typing:
            choosing.typed = edited(choosing.typed, key)
        elif is_text(key) and not choosing.take(key):
            self.note = "Only these options; choose one by its number."
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
        inquiries = self.inquiries
        return inquiries[self.cursor] if 0 <= self.cursor < len(inquiries) else None

    def _written(self) -> str:
        if self.declining is not None:
            return self.declining[1]
        return self.choosing.typed if self.choosing is not None else ""


def _searched(inquiry: Inquiry) -> str:
    texts = (question["question"] for question in inquiry["questions"])
    return " ".join((inquiry["ref"], asker(inquiry), *texts)).casefold()


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
