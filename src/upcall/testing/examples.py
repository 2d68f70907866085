"""Small well-formed values for tests, with everything that a test does not care about filled in."""

from itertools import count
from typing import Any

from upcall.domain.inquiry import lifecycle, refs
from upcall.domain.inquiry.inquiry import Answer, Change, Closing, Inquiry, Kind, Option, Origin, Question
from upcall.domain.roles import Role, Token
from upcall.ports.store import Decide

__all__ = [
    "DAY",
    "HOUR",
    "NOW",
    "Clock",
    "a_closing",
    "a_question",
    "a_token",
    "an_answer",
    "an_inquiry",
    "an_origin",
    "answering",
    "rejecting",
]

NOW = 1_800_000_000.0
"""When the examples were asked."""
HOUR, DAY = 3600.0, 86400.0

_numbers = count(1)


class Clock:
    """Wall time that moves only when it is told to."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        """The current time."""
        return self.now


def a_question(**changes: Any) -> Question:
    """A choice of two."""
    options = (Option(label="Blue", recommended=True), Option(label="Red", description="like the barn"))
    return Question(**{"text": "Which colour?", "header": "Colour", "options": options, **changes})


def an_origin(**changes: Any) -> Origin:
    """An agent at work."""
    return Origin(**{"agent": "builder", "session": "session-1", "door": "mcp", **changes})


def an_inquiry(**changes: Any) -> Inquiry:
    """An open inquiry that no store has seen, later than every one made before; fields of its origin also count."""
    number = next(_numbers)
    from_origin = {name: changes.pop(name) for name in Origin.__slots__ if name in changes}
    fields: dict[str, Any] = {
        "id": refs.inquiry_id(int(NOW * 1000), number),
        "ref": "",
        "kind": Kind.CHOICE,
        "questions": (a_question(),),
        "origin": an_origin(**from_origin),
        "asked_at": NOW,
        "expires_at": NOW + HOUR,
        "digest": "which colour",
    }
    return Inquiry(**{**fields, **changes})


def a_closing(**changes: Any) -> Closing:
    """Ana at her terminal."""
    return Closing(**{"by": "ana", "via": "cli", "at": NOW + 1, **changes})


def an_answer(*labels: str) -> Answer:
    """An answer with the choice for the only question."""
    return Answer(values=(labels or ("Blue",),), text=", ".join(labels or ("Blue",)))


def answering(label: str = "Blue", **closing: Any) -> Decide:
    """The step by which a person answers, for `Store.update`."""

    def decide(inquiry: Inquiry) -> Change | None:
        return lifecycle.answer(inquiry, an_answer(label), a_closing(**closing))

    return decide


def rejecting(**closing: Any) -> Decide:
    """The step by which a person declines, for `Store.update`."""

    def decide(inquiry: Inquiry) -> Change | None:
        return lifecycle.reject(inquiry, a_closing(**closing))

    return decide


def a_token(**changes: Any) -> Token:
    """A person's token."""
    return Token(**{"name": "ana", "role": Role.PERSON, "digest": "0" * 64, "created_at": NOW, **changes})
