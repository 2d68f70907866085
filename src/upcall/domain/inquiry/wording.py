"""What people and models read about an inquiry, as plain text; the terminal and every text channel share it.

The words of agents and persons are data here: they only fill gaps in our sentences, and what people see of them went
through `display` first.
"""

import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.field_rules import LONGEST_DEFAULT, RULES, rules_of
from upcall.domain.inquiry.inquiry import (
    APPROVE,
    DENY,
    OWN_TERMINAL,
    Answer,
    Answered,
    Cancelled,
    Closing,
    Expired,
    Failed,
    Held,
    Inquiry,
    Kind,
    Open,
    Option,
    Question,
    Rejected,
)
from upcall.domain.text.display import escaped, one_line, visible

__all__ = [
    "answer_text",
    "choices",
    "duration",
    "one_line",
    "prompt_text",
    "resolution_text",
    "visible",
]

SENTENCES = {
    "ask": "❓ Provide input:",
    "ask.approval": "❓ Approval needed:",
    "ask.attached": "Attached: {names}",
    "ask.recommended": "{label} (recommended)",
    "reply.approval": "Reply yes (1) to approve or no (2) to deny.",
    "reply.text": "Reply with free text.",
    "reply.one": "Reply with a number or the option text.",
    "reply.one.custom": "Reply with a number, the option text, or free text.",
    "reply.multi": "Reply with one or more numbers or option texts, separated by commas.",
    "reply.multi.custom": "Reply with one or more numbers or option texts, separated by commas, or free text.",
    "reply.several": "Reply with one line per question: {pattern}",
    "reply.form": "Reply with one line per field: {pattern} — leave out what has no answer.",
    "by": "{what} — by {who}",
    "because": "{what}: {reason}",
    "open": "… Waiting for an answer",
    "answered": "✓ Answered: {answer}",
    "answered.secret": "✓ Answered",
    "rejected": "✗ Declined",
    "cancelled": "✗ Cancelled",
    "own_terminal": "✓ Answered in the terminal",
    "expired": "✗ Expired: no answer came in time",
    "failed": "✗ Failed",
    "model.answered": "The user answered: {answer}",
    "model.policy": "No answer came in time; by policy the answer is: {answer}",
    "model.policy.several": "No answer came in time; by policy the answers are:",
    "model.pair": "{question} → {answer}",
}
"""Every sentence, by name, so that a locale can take this mapping's place."""

YEAR = 365 * 86400
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?) ?([smhd]?)")
_LONGEST_ANSWER_SHOWN = 200


def prompt_text(inquiry: Inquiry) -> str:
    """The question as a person is asked it. What an approval will do is shown whole, with nothing left out."""
    approval = inquiry.kind is Kind.APPROVAL
    show = escaped if approval else visible
    lines = [_say("ask.approval" if approval else "ask")]
    if inquiry.context.strip():
        lines += [show(inquiry.context).strip("\n"), ""]
    several = len(inquiry.questions) > 1
    for number, question in enumerate(inquiry.questions, 1):
        text = _with_rules(question, show(question.text).strip())
        if question.header.strip():
            text = f"[{one_line(question.header)}] {text}"
        lines.append(f"{number}) {text}" if several else text)
        if not approval:
            lines += _option_lines(question, show)
    if approval:
        lines += [f"  1. {APPROVE}", f"  2. {DENY}"]
    if inquiry.attachments:
        lines.append(
            _say("ask.attached", names=", ".join(one_line(file.name) for file in inquiry.attachments))
        )
    lines.append(_how_to_reply(inquiry))
    return "\n".join(lines)


def choices(question: Question) -> str:
    """The options by number, in one line: `1. staging, 2. production`."""
    return ", ".join(f"{number}. {one_line(label)}" for number, label in enumerate(question.labels, 1))


def resolution_text(inquiry: Inquiry, *, by: bool = True, words: Mapping[str, str] = SENTENCES) -> str:
    """How an inquiry ended, in one line; a secret answer is not repeated."""
    match inquiry.state:
        case Open(held=Held(decision=decision)):
            return resolution_text(replace(inquiry, state=decision), by=by, words=words)
        case Open():
            return words["open"]
        case Answered(closing=closing, answer=answer):
            return _signed(_answered(inquiry, answer, words), closing, words, by=by)
        case Expired():
            return words["expired"]
        case Cancelled(closing=Closing(via=via)) if via == OWN_TERMINAL:
            return words["own_terminal"]
        case Rejected(closing=closing) | Cancelled(closing=closing):
            return _because(_signed(words[inquiry.state_name], closing, words, by=by), closing, words)
        case Failed(closing=closing):
            return _because(words["failed"], closing, words)


def answer_text(inquiry: Inquiry) -> str:
    """What the asking model is told about the answer, one line per question; without one, how the inquiry ended."""
    if not isinstance(inquiry.state, Answered):
        return resolution_text(inquiry)
    by_policy = inquiry.state.closing.via == "default"
    values = inquiry.state.answer.values
    if len(values) == 1:
        return _say("model.policy" if by_policy else "model.answered", answer=", ".join(values[0]))
    lines = [_say("model.policy.several")] if by_policy else []
    for question, given in zip(inquiry.questions, values, strict=True):
        # A line of one answer must never look like the answer to another question.
        answer = ", ".join(given).replace("\n", "\n    ")
        lines.append(_say("model.pair", question=" ".join(question.text.split()), answer=answer))
    return "\n".join(lines)


def duration(value: object) -> float:
    """Seconds from a number, or from a string like `90s`, `10m`, `24h`, `2d`.

    Raises:
        InvalidRequest: if it is anything else, not more than nothing, or more than a year.
    """
    seconds = 0.0
    if isinstance(value, str):
        if found := _DURATION.fullmatch(value.strip()):
            seconds = float(found[1]) * _SECONDS[found[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= YEAR:
        seconds = float(value)
    if not 0 < seconds <= YEAR:
        # A list of any length is shown by its beginning, and never written out for that.
        shown = f"{(value if isinstance(value, str) else reprlib.repr(value))[:40]!r}"
        raise InvalidRequest(
            f"{shown} is not a duration",
            hint="write seconds, or 90s, 10m, 24h, 2d: more than 0 and at most a year",
        )
    return seconds


def _say(sentence: str, **gaps: object) -> str:
    return SENTENCES[sentence].format(**gaps)


def _with_rules(question: Question, text: str) -> str:
    field = question.field
    if field is None:
        return text
    default = ", ".join(one_line(each, LONGEST_DEFAULT) for each in field.default)
    rules = rules_of(field.schema(), default, required=field.required)
    return RULES["form.rules"].format(text=text, rules=rules) if rules else text


def _option_lines(question: Question, show: Callable[[str], str]) -> list[str]:
    lines: list[str] = []
    for number, option in enumerate(question.options, 1):
        description = f" — {' '.join(show(option.description).split())}" if option.description.strip() else ""
        lines.append(f"  {number}. {_label(option)}{description}")
        if option.preview:
            lines += [f"     │ {line}" for line in show(option.preview).strip("\n").split("\n")]
    return lines


def _label(option: Option) -> str:
    label = one_line(option.label)
    says_so = "recommended" in f"{option.label} {option.description}".casefold()
    return _say("ask.recommended", label=label) if option.recommended and not says_so else label


def _how_to_reply(inquiry: Inquiry) -> str:
    count = len(inquiry.questions)
    if inquiry.kind is Kind.APPROVAL:
        return _say("reply.approval")
    if count > 1:
        form = inquiry.questions[0].field is not None
        return _say(
            "reply.form" if form else "reply.several",
            pattern=" ".join(f"{number}) …" for number in range(1, count + 1)),
        )
    question = inquiry.questions[0]
    if inquiry.kind is Kind.TEXT or not question.options:
        return _say("reply.text")
    return _say(f"reply.{'multi' if question.multi else 'one'}{'.custom' if question.custom else ''}")


def _answered(inquiry: Inquiry, answer: Answer, words: Mapping[str, str]) -> str:
    if inquiry.secret:
        return words["answered.secret"]
    shown = "; ".join(", ".join(values) for values in answer.values if values)
    if answer.note:
        shown = f"{shown} — {answer.note}"
    if answer.files:
        shown = f"{shown} [{', '.join(file.name for file in answer.files)}]"
    return words["answered"].format(answer=one_line(shown, _LONGEST_ANSWER_SHOWN))


def _signed(text: str, closing: Closing, words: Mapping[str, str], *, by: bool) -> str:
    return words["by"].format(what=text, who=one_line(closing.by)) if by else text


def _because(text: str, closing: Closing, words: Mapping[str, str]) -> str:
    if not closing.reason:
        return text
    return words["because"].format(what=text, reason=one_line(closing.reason, _LONGEST_ANSWER_SHOWN))
