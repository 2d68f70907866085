"""Deciding with changes on a page: the fields of an action as inputs, and an edited action beside the one that was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from upcall.domain.approval.editing import in_text
from upcall.domain.inquiry.inquiry import Edit, Inquiry
from upcall.domain.text.display import escaped, one_line
from upcall.web.pages.markdown import preformatted

TALLEST = 12

Form = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditField:
    """A field of the action, as it is now in the form."""

    name: str
    label: str
    text: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EditView:
    """An edited action: both texts with their hashes, and the difference; `people` are those who have approved it so far."""

    asked_sha256: str
    sha256: str
    before: Markup
    after: Markup
    difference: Markup
    people: str = ""
    given: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """What a card shows of changes: those that can be made, the one that was decided, and those that take further people.

    `runs` says whether the program of the asker runs an edited action.
    """

    fields: tuple[EditField, ...]
    runs: bool
    decided: EditView | None
    proposals: tuple[EditView, ...]


def editing_of(inquiry: Inquiry, given: Form) -> Editing:
    """The changes of an inquiry; `given` is a form that was refused."""
    return Editing(
        fields=_fields(inquiry, given),
        runs=inquiry.subject is not None and inquiry.subject.runs_edited,
        decided=None if inquiry.edit is None else _view(inquiry, inquiry.edit),
        proposals=tuple(_view(inquiry, edit) for edit in inquiry.edits),
    )


def _fields(inquiry: Inquiry, given: Form) -> tuple[EditField, ...]:
    """What a person can change about the action; nothing where it cannot be edited, or the inquiry is over."""
    subject = inquiry.subject
    if subject is None or subject.given is None or not inquiry.is_open:
        return ()
    fields: list[EditField] = []
    for number, (name, value) in enumerate(subject.given.items()):
        text = "".join(given.get(f"e{number}", [in_text(value)]))
        rows = min(text.count("\n") + 1, TALLEST)
        fields.append(EditField(name=f"e{number}", label=one_line(name, 60), text=text, rows=rows))
    return tuple(fields)


def _view(inquiry: Inquiry, edit: Edit) -> EditView:
    people = inquiry.votes_for(edit.digest)
    return EditView(
        asked_sha256=inquiry.digest,
        sha256=edit.digest,
        before=preformatted(escaped(edit.before)),
        after=preformatted(escaped(edit.after)),
        difference=preformatted(escaped(edit.difference), "diff"),
        people=", ".join(one_line(vote.by, 60) for vote in people),
        given=len(people),
    )
