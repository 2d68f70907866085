"""What a key of the picker asks for: something to be done about a question, or something to be looked up."""

from typing import Any, NamedTuple

from upcall.cli.picker.choosing import Inquiry


class Send(NamedTuple):
    """Answer an inquiry: for each question a list of values, and as which rule an approval is remembered, if it is.

    A `quick` one was chosen and sent with one key, and can be undone for some seconds. `input` is of an action that was changed.
    """

    inquiry: Inquiry
    answers: list[list[str]]
    remember: str = ""
    quick: bool = False
    input: dict[str, Any] | None = None


class Decline(NamedTuple):
    """Reject an inquiry."""

    inquiry: Inquiry
    reason: str


class Change(NamedTuple):
    """Write what an inquiry is decided with: a changed action, or comments on a plan."""

    inquiry: Inquiry


class Extend(NamedTuple):
    """Give an inquiry more time."""

    inquiry: Inquiry


class Undo(NamedTuple):
    """Take back what was decided about an inquiry just now."""

    inquiry: Inquiry


class Entry(NamedTuple):
    """One row of a list beside the questions that wait: what it is, its name, and how it reads."""

    kind: str
    name: str
    text: str


class Look(NamedTuple):
    """Fetch the rows of a list: of runs, of the history, or of what is found for some words."""

    place: str
    words: str = ""


class Read(NamedTuple):
    """Fetch all there is about one row."""

    entry: Entry


class Leave(NamedTuple):
    """Close the picker."""


PickerAction = Send | Decline | Change | Extend | Undo | Look | Read | Leave
