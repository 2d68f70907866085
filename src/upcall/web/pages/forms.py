"""What a browser's form says about an inquiry. It reads fields; what they mean as an answer, the domain decides."""

from collections.abc import Mapping, Sequence

from upcall.broker.broker import Reply
from upcall.domain.answer.files import answer_file, few
from upcall.domain.answer.matching import is_blank
from upcall.domain.approval.rules import Remember, way_named
from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Inquiry, Kind, Question

OTHER = "other"
VIA = "web"
VERDICTS = {"approve": APPROVE, "deny": DENY}
SPANS = {"15m": 900.0, "1h": 3600.0, "4h": 4 * 3600.0, "24h": 86400.0}
"""How long one can snooze or extend, as the forms name it."""

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
    if inquiry.kind is Kind.APPROVAL:
        verdict = VERDICTS.get(value(form, "verdict"))
        if verdict is None:
            raise UnusableForm("problem.verdict")
        answers = [[verdict]]
        # The choice of what to remember is for an approval; a denial ignores it.
        remember = wanted_rule(form) if verdict == APPROVE else None
    else:
        answers = [
            _values(question, form.get(f"q{number}", []), _written(form, number))
            for number, question in enumerate(inquiry.questions)
        ]
    return Reply(
        answers=answers,
        via=VIA,
        key=value(form, "key")[:100] or None,
        force=value(form, "force") == "1",
        remember=remember,
        note=value(form, "note").replace("\r\n", "\n"),
        files=few([answer_file(name, content) for name, content in files]),
        # A rule is made at once.
        hold=0.0 if remember is not None else held(form, undo),
    )


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


def _written(form: Form, number: int) -> str:
    # Browsers send line ends as the standard of e-mail has them.
    return value(form, f"t{number}").replace("\r\n", "\n")


def _values(question: Question, chosen: list[str], written: str) -> list[str]:
    labels = [_label(question, place) for place in chosen if place != OTHER]
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
