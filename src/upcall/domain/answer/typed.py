"""Typed answers: what a person gave for each field of a form, held against its type, and the content that the asker gets."""

from collections.abc import Mapping, Sequence

from upcall.domain.answer.matching import Choices, bare, is_blank, parts, well_formed
from upcall.domain.errors import UnreadableAnswer
from upcall.domain.inquiry.field import NO, YES, Content, FieldType
from upcall.domain.inquiry.fitting import Checked, Values, answer_to, fit, problem_with
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Question
from upcall.domain.inquiry.unfit import FieldProblem, UnfitAnswer
from upcall.domain.text.display import one_line

LEFT_OUT = frozenset({"-", "\N{EN DASH}", "\N{EM DASH}", "skip"})
"""What stands for no answer to a field, where a person writes all of them as words."""

_TRUE, _FALSE = frozenset({"yes", "y", "true", "on", "1"}), frozenset({"no", "n", "false", "off", "2"})


def is_form(inquiry: Inquiry) -> bool:
    """Whether the asker wants a typed answer."""
    return any(question.field is not None for question in inquiry.questions)


def content(inquiry: Inquiry) -> Content | None:
    """The answer to a form as the object that its schema describes; None if it is no form, or has no answer."""
    if not isinstance(inquiry.state, Answered) or not is_form(inquiry):
        return None
    found: Content = {}
    for question, given in zip(inquiry.questions, inquiry.state.answer.values, strict=True):
        field = question.field
        if field is None:
            continue
        each = [field.value(answer, question.labels) for answer in given]
        if field.type is FieldType.ARRAY and (each or field.required):
            found[field.name] = [*each]
        elif each:
            found[field.name] = each[0]
    return found


def fitting(inquiry: Inquiry, values: Sequence[Sequence[str]]) -> tuple[Values, ...]:
    """What was given for each field, as it is kept; a field that was left out has its default.

    Raises:
        UnfitAnswer: if a field does not fit, with a sentence for each of those.
    """
    return _all_of(
        [check(question, tuple(given)) for question, given in zip(inquiry.questions, values, strict=True)]
    )


def filled_in(inquiry: Inquiry, sent: Mapping[str, object]) -> tuple[Values, ...]:
    """The answer that an object of the schema stands for.

    Raises:
        UnfitAnswer: if a field does not fit, or is none of the form.
    """
    known = {question.field.name for question in inquiry.questions if question.field is not None}
    strange = [_problem_of(name, "unknown") for name in sent if name not in known]
    found = [_sent(question, sent) for question in inquiry.questions]
    problems = [problem for _, problem in found if problem is not None] + strange
    if problems:
        raise UnfitAnswer(problems)
    return fitting(inquiry, [values for values, _ in found])


def _sent(question: Question, sent: Mapping[str, object]) -> Checked:
    field = question.field
    return ((), None) if field is None else answer_to(field, question.labels, sent.get(field.name))


def in_words(inquiry: Inquiry, raw: str) -> tuple[Values, ...]:
    """The answer that words stand for: those of a single field, or `1) … 2) …` with nothing for what is left out.

    Raises:
        UnreadableAnswer: if it does not say which words are for which field.
        UnfitAnswer: if a field does not fit.
    """
    count = len(inquiry.questions)
    said = [raw] if count == 1 else parts(raw, count, gaps=True)
    if said is None:
        raise UnreadableAnswer(
            f"this does not say which of the {count} fields it is for",
            hint="write one line for each: 1) … 2) …, and leave out what has no answer",
        )
    return one_by_one(inquiry, said)


def one_by_one(inquiry: Inquiry, said: Sequence[str]) -> tuple[Values, ...]:
    """The answer that words for each field stand for.

    Raises:
        UnfitAnswer: if a field does not fit.
    """
    return _all_of(
        [
            check(question, _heard(question, words))
            for question, words in zip(inquiry.questions, said, strict=True)
        ]
    )


def check(question: Question, given: Sequence[str]) -> Checked:
    """An answer to a field as it is kept, and what does not fit about it."""
    field = question.field
    values = tuple(well_formed(value) for value in given if not is_blank(value))
    if field is None:
        return values, None
    if not values:
        values = field.default
        missing = field.required and not values and not (field.type is FieldType.ARRAY and not field.least)
        return values, problem_with(field, "missing") if missing else None
    if question.options:
        named = _named(question, values)
        if named is None:
            return (), problem_with(field, "choice", ", ".join(values))
        values = named
    return fit(field, values, chosen=bool(question.options))


def _named(question: Question, values: Values) -> Values | None:
    """The labels that are meant, in the order of the options; None if one is none of them."""
    labels = question.labels
    options = Choices(labels)
    found = {place for value in values if (place := options.named(value)) is not None}
    return None if len(found) < len(set(values)) else tuple(labels[place] for place in sorted(found))


def _heard(question: Question, raw: str) -> Values:
    """What words say about a field: an option by its name or number, several of them, or the words themselves."""
    field, said = question.field, bare(raw).casefold()
    if is_blank(raw) or said in LEFT_OUT:
        return ()
    if field is not None and field.type is FieldType.BOOLEAN and said in _TRUE | _FALSE:
        return (YES if said in _TRUE else NO,)
    if not question.options:
        return (raw,)
    options = Choices(question.labels)
    if question.multi:
        found = options.several(raw)
    else:
        one = options.one(raw)
        found = set() if one is None else {one}
    return tuple(question.labels[place] for place in sorted(found)) or (raw,)


def _all_of(found: Sequence[Checked]) -> tuple[Values, ...]:
    problems = [problem for _, problem in found if problem is not None]
    if problems:
        raise UnfitAnswer(problems)
    return tuple(values for values, _ in found)


def _problem_of(name: str, rule: str) -> FieldProblem:
    return FieldProblem(name=name, title=one_line(name, 100), rule=rule, gaps={})
