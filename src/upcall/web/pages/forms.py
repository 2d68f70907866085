"""What a browser's form says about an inquiry. It reads fields; what they mean as an answer, the domain decides."""

import re
from collections.abc import Mapping, Sequence

from upcall.broker.broker import Reply
from upcall.domain.answer.files import answer_file, few
from upcall.domain.answer.matching import is_blank
from upcall.domain.approval.rules import Remember, way_named
from upcall.domain.errors import (
    EditDenied,
    EmptyAnswer,
    InvalidRequest,
    NotAllowed,
    NotEditable,
    NoteUnread,
    UnreadableAnswer,
)
from upcall.domain.inquiry.field import Format
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Inquiry, Kind, Question
from upcall.domain.inquiry.plans import DECISIONS
from upcall.web.pages.edit_forms import EDITED, edited_input, is_changed

REFUSED = (
    EmptyAnswer,
    UnreadableAnswer,
    InvalidRequest,
    NotAllowed,
    NoteUnread,
    NotEditable,
    EditDenied,
)
"""Why an answer cannot be taken: the form comes back with a sentence, and with what was typed."""

OTHER = "other"
VIA = "web"
VERDICTS = {"approve": APPROVE, "deny": DENY}
SPANS = {"15m": 900.0, "1h": 3600.0, "4h": 4 * 3600.0, "24h": 86400.0}
"""How long one can snooze or extend, as the forms name it."""

_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")

Form = Mapping[str, list[str]]


class UnusableForm(InvalidRequest):
    """A form that was not filled in so that it could be sent; `sentence` says what is missing."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"the form cannot be used: {sentence}")
        self.sentence = sentence


def value(form: Form, name: str) -> str:
    """A field that is there once; empty when it is not there."""
    return next(iter(form.get(name, ())), "")


def reply(
    inquiry: Inquiry, form: Form, files: Sequence[tuple[str, bytes]] = (), *, undo: float = 0.0
) -> Reply:
    """The reply that a filled-in form stands for; one that was decided with a key can be undone for some seconds.

    Raises:
        UnusableForm: if it contradicts itself.
        UnusableFile: if a file cannot be taken.
    """
    remember: Remember | None = None
    edited: Mapping[str, object] | None = None
    if inquiry.kind is Kind.PLAN:
        answers = [[DECISIONS.get(value(form, "decision"), "")]]
    elif inquiry.kind is Kind.APPROVAL:
        chosen = value(form, "verdict")
        verdict = APPROVE if chosen.startswith(EDITED) else VERDICTS.get(chosen)
        if verdict is None:
            raise UnusableForm("problem.verdict")
        answers = [[verdict]]
        # The choice of what to remember is for an approval; a denial ignores it.
        remember = wanted_rule(form) if verdict == APPROVE else None
        edited = _edited(inquiry, form, chosen)
        if remember is not None and edited is not None:
            raise UnusableForm("problem.edit_remembered")
    else:
        answers = [
            _values(question, form.get(f"q{number}", []), _written(form, number, question))
            for number, question in enumerate(inquiry.questions)
        ]
    made = Reply(
        answers=answers,
        via=VIA,
        key=value(form, "key")[:100] or None,
        force=value(form, "force") == "1",
        remember=remember,
        input=edited,
        note=value(form, "note").replace("\r\n", "\n"),
        files=few([answer_file(name, content) for name, content in files]),
        # A rule is made at once.
        hold=0.0 if remember is not None else held(form, undo),
    )
    if inquiry.kind is Kind.PLAN:
        _check_plan(value(form, "decision"), made.note)
    return made


def _check_plan(decision: str, said: str) -> None:
    if decision not in DECISIONS:
        raise UnusableForm("problem.decision")
    if decision == "revise" and is_blank(said):
        raise UnusableForm("problem.revise")
    if decision in ("approve", "accept_edits") and not is_blank(said):
        raise UnusableForm("problem.unrevised")


def _edited(inquiry: Inquiry, form: Form, chosen: str) -> Mapping[str, object] | None:
    """The input of an action that was edited.

    Raises:
        UnusableForm: if it was changed and approved by the button for what was asked.
    """
    if chosen.startswith(EDITED):
        return edited_input(inquiry, form, chosen)
    if VERDICTS[chosen] == APPROVE and is_changed(inquiry, form):
        raise UnusableForm("problem.changed")
    return None


def held(form: Form, undo: float) -> float:
    """For how long a decision is held: the page's script says that it was made with a key."""
    return undo if value(form, "hold") == "1" else 0.0


def span(form: Form) -> float:
    """For how long.

    Raises:
        UnusableForm: if it is not one of the spans offered.
    """
    seconds = SPANS.get(value(form, "for"))
    if seconds is None:
        raise UnusableForm("problem.span")
    return seconds


def wanted_rule(form: Form) -> Remember | None:
    """As which rule an approval is to be remembered, if it is.

    Raises:
        UnusableForm: if there is no such kind of rule.
    """
    wanted = value(form, "remember")
    if not wanted:
        return None
    way = way_named(wanted)
    if way is None:
        raise UnusableForm("problem.choice")
    return Remember(way=way)


def _written(form: Form, number: int, question: Question) -> str:
    # Browsers send line ends as the standard of e-mail has them.
    written = value(form, f"t{number}").replace("\r\n", "\n")
    moment = question.field is not None and question.field.format is Format.DATE_TIME
    # An input for a moment sends it without an offset; the page asks for it in UTC.
    return f"{written}Z" if moment and _LOCAL.fullmatch(written) else written


def _values(question: Question, chosen: list[str], written: str) -> list[str]:
    # An empty one is the choice to leave a field out.
    labels = [_label(question, place) for place in chosen if place not in (OTHER, "")]
    wrote = not is_blank(written)
    if question.multi or not question.options:
        return [*labels, written] if wrote else labels
    if labels and wrote:
        # Neither may be dropped without a word.
        raise UnusableForm("problem.both")
    return labels or ([written] if wrote else [])


def _label(question: Question, place: str) -> str:
    if place.isascii() and place.isdigit() and len(place) < 4 and int(place) < len(question.options):
        return question.labels[int(place)]
    raise UnusableForm("problem.choice")
