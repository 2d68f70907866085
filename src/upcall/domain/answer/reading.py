"""Turning a person's words into an answer, the same way wherever they were typed.

`read` takes one reply as text, `take` the answers of a form, `choose` the values of a command line. Every doubt about
an approval is a no. Words that are not a choice are an answer as they are, unless only the choices are allowed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from upcall.domain.answer import plans, typed
from upcall.domain.answer.matching import Choices, is_blank, parts, well_formed, without_marks
from upcall.domain.answer.verdicts import is_yes
from upcall.domain.errors import EmptyAnswer, InvalidRequest, UnreadableAnswer
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Answer, Inquiry, Kind, Question
from upcall.domain.inquiry.wording import choices

Values = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRules:
    """What installations disagree about: an approval's unknown word, and a number that is also a label."""

    unknown_approval: Literal["deny", "reask"] = "deny"
    numbers: Literal["label_first", "position"] = "label_first"


DEFAULT_RULES = ReadingRules()

_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>(?:[ \t>][^\n]*)?\r?(?:\n|\Z)", re.MULTILINE)
_ONE_ONLY = "this question takes one answer"


def read(inquiry: Inquiry, text: str, rules: ReadingRules = DEFAULT_RULES) -> Answer:
    """The answer that a reply in words stands for.

    Raises:
        EmptyAnswer: if it says nothing.
        UnreadableAnswer: if it is none of the choices and only those are allowed.
        UnfitAnswer: if a field of a form does not take it.
    """
    raw = _words(text)
    if inquiry.kind is Kind.PLAN:
        return plans.read(inquiry, raw)
    if typed.is_form(inquiry):
        return Answer(values=typed.in_words(inquiry, raw), text=raw)
    if inquiry.kind is Kind.APPROVAL:
        verdict = _verdict(raw, rules)
        return Answer(values=tuple((verdict,) for _ in inquiry.questions), text=raw)
    count = len(inquiry.questions)
    said = [raw] if count == 1 else parts(raw, count)
    if said is not None:
        return Answer(values=_replies(inquiry, said, rules), text=raw)
    for index, question in enumerate(inquiry.questions):
        if _is_closed(question):
            raise _unreadable(inquiry, index, f"this does not answer all {count} questions, like 1) … 2) …")
    return Answer(values=tuple((raw,) for _ in inquiry.questions), text=raw)


def take(inquiry: Inquiry, values: Sequence[Sequence[str]]) -> Answer:
    """The answer of a form: one list of strings per question, used as they are.

    Raises:
        InvalidRequest: if it is not one list per question.
        EmptyAnswer: if a list says nothing.
        UnreadableAnswer: if a value is none of the choices and only those are allowed, or is one too many.
    """
    count = len(inquiry.questions)
    if isinstance(values, str) or len(values) != count or any(isinstance(each, str) for each in values):
        expected = "1 list of strings" if count == 1 else f"{count} lists of strings, one for each question"
        example = ", ".join('["…"]' for _ in range(count))
        raise InvalidRequest(f"answers has to hold {expected}", hint=f"for example [{example}]")
    if typed.is_form(inquiry):
        return as_taken(typed.fitting(inquiry, values))
    if inquiry.kind is Kind.PLAN:
        return plans.take(inquiry, [well_formed(value) for value in values[0]])
    taken = tuple(_taken(inquiry, index, each) for index, each in enumerate(values))
    return as_taken(taken)


def as_taken(values: tuple[Values, ...]) -> Answer:
    """The answer that these values are, without words of their own."""
    return Answer(values=values, text="\n".join(", ".join(each) for each in values).strip())


def choose(inquiry: Inquiry, values: Sequence[str], rules: ReadingRules = DEFAULT_RULES) -> Answer:
    """The answer of a command line: one or more choices for one question, or one value for each of several.

    Raises:
        InvalidRequest: if there are not as many values as questions.
        EmptyAnswer: if there is no value, or one says nothing.
        UnreadableAnswer: if one is none of the choices and only those are allowed, or is one too many.
    """
    count = len(inquiry.questions)
    if typed.is_form(inquiry):
        return _chosen_for_form(inquiry, values)
    given = [_words(value) for value in values]
    if not given:
        raise EmptyAnswer
    if inquiry.kind is Kind.PLAN and len(given) > 1:
        return plans.take(inquiry, given)
    if count == 1 or inquiry.kind is Kind.APPROVAL:
        if len(given) == 1:
            return read(inquiry, given[0], rules)
        if not _takes_several(inquiry, 0):
            raise _unreadable(inquiry, 0, f"{_ONE_ONLY}: put several words in quotation marks")
        each = [value for reply in given for value in _reply(inquiry, 0, reply, rules)]
        return Answer(values=(_in_order(inquiry.questions[0], each),), text=", ".join(given))
    said = parts(given[0], count) if len(given) == 1 else given
    if said is None or len(said) != count:
        raise InvalidRequest(f"there are {count} questions", hint=f"give {count} values, one for each")
    return Answer(values=_replies(inquiry, said, rules), text="\n".join(given))


def _chosen_for_form(inquiry: Inquiry, values: Sequence[str]) -> Answer:
    count = len(inquiry.questions)
    if len(values) == count > 1:
        return Answer(values=typed.one_by_one(inquiry, values), text="\n".join(values))
    if len(values) > 1 and count > 1:
        raise InvalidRequest(f"there are {count} fields", hint=f"give {count} values, one for each")
    # Several values for a single field are a list of choices.
    return read(inquiry, ", ".join(values))


def strip_quoted(text: str) -> str:
    """The text without the lines that e-mail and chat programs quote: those that begin with `> `."""
    return _QUOTED_LINE.sub("", text).strip()


def _words(text: str) -> str:
    words = well_formed(text).strip()
    if is_blank(words):
        raise EmptyAnswer
    return words


def _verdict(raw: str, rules: ReadingRules) -> str:
    known = is_yes(raw)
    if known is None and rules.unknown_approval == "reask":
        raise UnreadableAnswer("that is neither a yes nor a no", hint=f"reply 1. {APPROVE} or 2. {DENY}")
    return APPROVE if known else DENY


def _replies(inquiry: Inquiry, said: Sequence[str], rules: ReadingRules) -> tuple[Values, ...]:
    return tuple(_reply(inquiry, index, part, rules) for index, part in enumerate(said))


def _reply(inquiry: Inquiry, index: int, raw: str, rules: ReadingRules) -> Values:
    question = inquiry.questions[index]
    if inquiry.kind is Kind.TEXT or not question.options:
        return (raw,)
    labels = question.labels
    options = Choices(labels, position_first=rules.numbers == "position")
    if question.multi:
        found = options.several(raw)
    else:
        one = options.one(raw)
        found = set() if one is None else {one}
    if found:
        return _in_order(question, [labels[each] for each in found])
    if _is_closed(question):
        raise _unreadable(inquiry, index, "that is not one of the choices")
    words = without_marks(raw)
    if is_blank(words):
        raise EmptyAnswer
    return (words,)


def _taken(inquiry: Inquiry, index: int, values: Sequence[str]) -> Values:
    question = inquiry.questions[index]
    given = [well_formed(value) for value in values if not is_blank(value)]
    if not given:
        raise EmptyAnswer
    if len(given) > 1 and not _takes_several(inquiry, index):
        raise _unreadable(inquiry, index, _ONE_ONLY)
    approval = inquiry.kind is Kind.APPROVAL
    if not approval and (inquiry.kind is Kind.TEXT or not _is_closed(question)):
        return _in_order(question, given)
    labels = (APPROVE, DENY) if approval else question.labels
    options = Choices(labels)
    found = [options.named(value) for value in given]
    known = [labels[each] for each in found if each is not None]
    if len(known) < len(found):
        raise _unreadable(inquiry, index, "that is not one of the choices")
    return _in_order(question, known)


def _in_order(question: Question, values: Sequence[str]) -> Values:
    """Each value once: labels in the order of the options, then words of one's own as they came."""
    if len(values) == 1:
        return tuple(values)
    places = {label: place for place, label in enumerate(question.labels)}
    return tuple(sorted(dict.fromkeys(values), key=lambda value: places.get(value, len(places))))


def _is_closed(question: Question) -> bool:
    return not question.custom and bool(question.options)


def _takes_several(inquiry: Inquiry, index: int) -> bool:
    return inquiry.kind is Kind.CHOICE and inquiry.questions[index].multi


def _unreadable(inquiry: Inquiry, index: int, problem: str) -> UnreadableAnswer:
    question = inquiry.questions[index]
    which = f"question {index + 1}: " if len(inquiry.questions) > 1 else ""
    if inquiry.kind is Kind.APPROVAL:
        return UnreadableAnswer(problem, hint=f"choose 1. {APPROVE} or 2. {DENY}")
    hint = f"choose from: {choices(question)}" if question.options else None
    return UnreadableAnswer(f"{which}{problem}", hint=hint)
