"""The picker's state: keys in, what is shown and what is to be done out. It neither draws nor makes requests.

A key acts only on what the person had on the screen when they pressed it: see `Picker.refresh` and `Choosing.whole`. No word
that a person types is a shortcut: letters move the cursor at most, and what acts on a question stands behind Tab.
"""

import time
from collections.abc import Callable

from upcall.cli.picker.actions import Change, Decline, Entry, Extend, Leave, Look, PickerAction, Send, Undo
from upcall.cli.picker.browsing import COMMAND, FIND, Browsing
from upcall.cli.picker.changing import Changing, can_change
from upcall.cli.picker.choosing import Choosing, Inquiry, SettledMeanwhile
from upcall.cli.picker.finding import INBOX, PLACES, found, searched
from upcall.cli.picker.keys import (
    BACKSPACE,
    CLEAR,
    DOWN,
    ENTER,
    ESCAPE,
    FIND_KEY,
    LEFT,
    PAGE_DOWN,
    PAGE_UP,
    RIGHT,
    TAB,
    UP,
    edited,
    is_text,
)
from upcall.cli.picker.selecting import NOWHERE, Selecting, digit
from upcall.domain.inquiry.plans import REVISE

APPROVE = "Approve"
UNREAD = "Read it to its end before you approve it: PgDn."
CALM_SECONDS = 0.8
"""Seconds without effect of the keys that open or act, after a change of the list that the person did not make."""


class Picker:
    """The list of open questions, and the one that is being answered."""

    def __init__(self, inquiries: list[Inquiry], clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting = inquiries
        self.cursor = 0
        self.choosing: Choosing | None = None
        self.declining: tuple[Inquiry, str] | None = None
        self.changing: Changing | None = None
        self.closed: SettledMeanwhile | None = None
        self.acting = False
        """Whether Tab was pressed: the next letter names an action."""
        self.going = False
        """Whether `g` was pressed: the next letter names a place."""
        self.browsing: Browsing | None = None
        self.helping = False
        self.scroll = 0
        """How far the help is scrolled."""
        self.search: str | None = None
        """What is being searched for, while it is typed."""
        self.sought = ""
        self.note = ""
        self._begun: dict[str, Choosing] = {}
        """What is half answered, by the id of its inquiry."""
        self._decided: tuple[Inquiry, float] | None = None
        self._clock = clock
        self._calm_at = clock()

    @property
    def inquiries(self) -> list[Inquiry]:
        """The inquiries of the list: those that wait, as far as they are sought."""
        words = self.sought.casefold().split()
        return [inquiry for inquiry in self.waiting if all(word in searched(inquiry) for word in words)]

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
        still = {inquiry["id"] for inquiry in inquiries}
        self._begun = {name: begun for name, begun in self._begun.items() if name in still}
        busy = self.choosing.inquiry if self.choosing else self.declining[0] if self.declining else None
        if busy is not None and busy["id"] not in still:
            self.closed = SettledMeanwhile(inquiry=busy, written=self._written())
            self.choosing = self.declining = self.browsing = self.changing = None
            self.acting = self.going = False

    def open(self, ref: str) -> bool:
        """Open an inquiry by its ref or id; False when it does not wait."""
        for inquiry in self.waiting:
            if ref in {inquiry["ref"], inquiry["id"]}:
                self._put_aside()
                self.sought = self.sought if inquiry in self.inquiries else ""
                self.cursor = self.inquiries.index(inquiry)
                self.choosing = self._begun.pop(inquiry["id"], None) or Choosing(inquiry)
                return True
        return False

    def _put_aside(self) -> None:
        """Leave the question; what is half answered is there again when it is opened the next time."""
        if self.choosing is not None and self.choosing.begun:
            self._begun[self.choosing.inquiry["id"]] = self.choosing
        self.choosing = None

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
        if self.choosing is None and (self._selected() is None or self._clock() < self._calm_at):
            return found
        if self.choosing is not None and self._recommended(self.choosing) is not None:
            found["y"] = "recommended"
        if self.choosing is not None and self.choosing.ways:
            found["a"] = "remember"
        if self.choosing is not None and can_change(self.choosing.inquiry):
            found["c"] = "comment" if self.choosing.is_plan else "change"
        found |= {"r": "reject", "e": "24 h more"}
        return found if self.choosing is None else found | {"g": "go to", "?": "keys"}

    def found(self, words: str) -> list[Entry]:
        """The questions that wait and the commands with all of these words."""
        return found(words, self.waiting, self.actions)

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
            self.scroll = max(self.scroll + (key == PAGE_DOWN) - (key == PAGE_UP), 0) if self.helping else 0
            return None
        if self.going:
            return self._press_going(key)
        if self.declining is not None:
            return self._press_declining(self.declining[0], self.declining[1], key)
        if self.changing is not None:
            return self._press_changing(self.changing, key)
        if key == FIND_KEY:
            return self._browse(FIND)
        if self.browsing is not None:
            return self._press_browsing(self.browsing, key)
        if key in {PAGE_UP, PAGE_DOWN} and self.choosing is not None:
            self.choosing.scroll += 1 if key == PAGE_DOWN else -1
            return None
        if self.acting:
            return self._press_acting(key)
        return self._press_question(self.choosing, key) if self.choosing else self._press_list(key)

    def _press_changing(self, changing: Changing, key: str) -> PickerAction | None:
        deed = changing.press(key)
        self.note = changing.note
        if key == ESCAPE or isinstance(deed, Send):
            self.changing = None
        if isinstance(deed, Send):
            # If it is refused, what was written is there again.
            self._put_aside()
        return deed

    def _browse(self, place: str) -> PickerAction | None:
        self.acting, self.search = False, None
        self.browsing = Browsing(place)
        return Look(place)

    def _press_going(self, key: str) -> PickerAction | None:
        self.going = False
        place = PLACES.get(key)
        if place is None:
            self.note = "" if key == ESCAPE else "Nothing is there: g i inbox, g r runs, g h history."
            return None
        self._put_aside()
        self.browsing = None
        return None if place == INBOX else self._browse(place)

    def _press_browsing(self, browsing: Browsing, key: str) -> PickerAction | None:
        lists = browsing.place != FIND and browsing.text is None
        if lists and key in {"g", "?", "/"}:
            self.going, self.helping = key == "g", key == "?"
            return self._browse(FIND) if key == "/" else None
        if key == ESCAPE and browsing.text is None:
            self.browsing = None
            return None
        if lists and key == "q":
            return Leave()
        pressed = browsing.press(key)
        if not isinstance(pressed, Entry):
            return pressed
        self.browsing = None
        if pressed.kind == COMMAND:
            return self._command(pressed.name)
        if not self.open(pressed.name):
            self.note = "It does not wait any more."
        return None

    def _command(self, name: str) -> PickerAction | None:
        """Carry out what was found, as its key does."""
        first, _, letter = name.partition(" ")
        if first == "g":
            return self._press_going(letter)
        if first == "Tab":
            return self._press_acting(letter)
        if name != "?":
            self._put_aside()
        return self._press_list(name)

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
        elif key == "g":
            self.going = True
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
            self.open(inquiry["id"])
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
        self.going, self.helping = key == "g", key == "?"
        if key == "r":
            self.declining = (inquiry, "")
        elif key == "e":
            return Extend(inquiry)
        elif self.choosing is not None and key == "c":
            if self.choosing.whole or self.choosing.is_plan:
                return Change(inquiry)
            self.note = UNREAD
        elif self.choosing is not None and key == "a":
            self.choosing.remember_more()
        elif self.choosing is not None and key == "y":
            return self._take_recommended(self.choosing)
        return None

    def _take_recommended(self, choosing: Choosing) -> PickerAction | None:
        number = self._recommended(choosing)
        if number is None:
            return None
        choosing.part.recommend(number)
        sent = self._accept(choosing)
        return sent._replace(quick=True) if isinstance(sent, Send) else sent

    def _recommended(self, choosing: Choosing) -> int | None:
        return None if choosing.reviewing else choosing.part.recommended

    def _press_question(self, choosing: Choosing, key: str) -> PickerAction | None:
        if key == ENTER:
            return self._accept(choosing)
        if key == TAB:
            self.acting = True
        elif choosing.is_form and key in {LEFT, RIGHT}:
            choosing.go(choosing.at + (1 if key == RIGHT else -1))
        elif choosing.reviewing:
            self._press_review(choosing, key)
        elif key == ESCAPE and choosing.part.typing and choosing.part.options:
            choosing.part.typed = ""
            choosing.part.move(1)
        elif key == ESCAPE:
            self._put_aside()
        else:
            self._press_part(choosing.part, key)
        return None

    def _press_part(self, part: Selecting, key: str) -> None:
        if key in {UP, DOWN} or (key in {"j", "k"} and not part.custom):
            part.move(1 if key in {DOWN, "j"} else -1)
        elif part.typing:
            part.typed = edited(part.typed, key)
        elif key in {BACKSPACE, CLEAR}:
            part.clear()
        elif is_text(key) and not part.take(key):
            self.note = "Only these options; choose one by its number."

    def _press_review(self, choosing: Choosing, key: str) -> None:
        number = digit(key, len(choosing.parts))
        if number is not None:
            choosing.go(number)
        elif key == ESCAPE:
            self._put_aside()
        else:
            self.note = "Enter sends it; a number goes back to that question."

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
        if choosing.reviewing and choosing.unanswered is not None:
            self.note = f"Question {choosing.unanswered + 1} has no answer yet."
            choosing.go(choosing.unanswered)
            return None
        values = choosing.part.values()
        if not values and not choosing.part.optional:
            self.note = choosing.part.missing
            return None
        if choosing.is_plan and values == [REVISE]:
            self.note = "Type what should change; `L3: …` comments on line 3."
            return None
        if choosing.lets_act(values) and not choosing.whole:
            self.note = UNREAD
            return None
        answers = choosing.accept()
        if answers is None:
            return None
        # If it is refused, what was written is there again.
        self._put_aside()
        return Send(choosing.inquiry, answers, choosing.remember if answers == [[APPROVE]] else "")

    def _selected(self) -> Inquiry | None:
        inquiries = self.inquiries
        return inquiries[self.cursor] if 0 <= self.cursor < len(inquiries) else None

    def _written(self) -> str:
        if self.declining is not None:
            return self.declining[1]
        if self.changing is not None:
            return self.changing.text
        return self.choosing.part.typed if self.choosing is not None else ""
