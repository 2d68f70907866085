"""One inquiry being answered in the picker: its questions, one at a time, and what a form looks like before it is sent."""

from dataclasses import dataclass
from typing import Any

from upcall.cli.picker.selecting import Selecting
from upcall.domain.inquiry.inquiry import APPROVE
from upcall.domain.inquiry.plans import ACCEPT_EDITS

Inquiry = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class SettledMeanwhile:
    """An inquiry that was settled while a person was at it: what they had written, and `how` it ended once that is known."""

    inquiry: Inquiry
    written: str
    how: str = "was settled meanwhile"


class Choosing:
    """One inquiry being answered. After the last question of a form comes its review."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.remember = ""
        self.whole = False
        """Whether its end has been on the screen; what draws the screen says so."""
        self.at = 0
        self.scroll = 0
        self.written = ""
        """What its person has made of the action or of the plan in their editor."""
        self.parts = [Selecting(each, is_approval=self.is_consent) for each in inquiry["questions"]]
        self._accepted: set[int] = set()

    @property
    def is_approval(self) -> bool:
        """Whether it asks for a yes or a no."""
        return bool(self.inquiry["kind"] == "approval")

    @property
    def is_plan(self) -> bool:
        """Whether it is a plan to be decided."""
        return bool(self.inquiry["kind"] == "plan")

    @property
    def is_consent(self) -> bool:
        """Whether an answer to it can let an agent act."""
        return self.is_approval or self.is_plan

    def lets_act(self, values: list[str]) -> bool:
        """Whether these values are a yes, which is for what was seen whole."""
        yes = ([APPROVE], [ACCEPT_EDITS])
        return self.is_consent and values in yes

    @property
    def is_form(self) -> bool:
        """Whether it has several questions."""
        return len(self.parts) > 1

    @property
    def reviewing(self) -> bool:
        """Whether all questions of a form are behind, and only sending it is left."""
        return self.at == len(self.parts)

    @property
    def part(self) -> Selecting:
        """The question that is to be answered now; in the review, the last one."""
        return self.parts[min(self.at, len(self.parts) - 1)]

    @property
    def begun(self) -> bool:
        """Whether something would be lost with it. An approval is never half decided, but may be half changed."""
        typed = self._accepted or any(part.typed for part in self.parts)
        return bool(self.written or (typed and not self.is_approval))

    @property
    def ways(self) -> list[str]:
        """The rules that an approval can be remembered as, the narrowest first."""
        ways: list[str] = (self.inquiry.get("action") or {}).get("remember", [])
        return ways

    def remember_more(self) -> None:
        """Remember the approval by the next wider rule; after the widest, not at all."""
        every = ["", *self.ways]
        self.remember = every[(every.index(self.remember) + 1) % len(every)]

    def answer(self, number: int) -> list[str]:
        """What a question was answered with so far; nothing before Enter."""
        return self.parts[number].values() if number in self._accepted else []

    def is_done(self, number: int) -> bool:
        """Whether a question has an answer, or was left out where it may be."""
        return number in self._accepted and bool(self.answer(number) or self.parts[number].optional)

    @property
    def unanswered(self) -> int | None:
        """The first question without an answer."""
        return next((number for number in range(len(self.parts)) if not self.is_done(number)), None)

    def go(self, number: int) -> None:
        """Go to a question, or to the review after the last one."""
        self.part.leave()
        self.at = max(0, min(number, len(self.parts)))
        self.scroll = 0

    def accept(self) -> list[list[str]] | None:
        """Take the answer to this question, or the whole form in its review; all answers once they can be sent."""
        if not self.reviewing:
            self._accepted.add(self.at)
        if self.unanswered is None and (self.reviewing or not self.is_form):
            return [part.values() for part in self.parts]
        later = [number for number in range(self.at + 1, len(self.parts)) if not self.is_done(number)]
        left = self.unanswered if self.unanswered is not None else len(self.parts)
        self.go(later[0] if later else left)
        return None
