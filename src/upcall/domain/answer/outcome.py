"""What an asker is told: a status that a program can branch on and a text that a model understands by itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upcall.domain.answer.plans import told as told_of_plan
from upcall.domain.answer.typed import content
from upcall.domain.answer.verdicts import NEGATIVE
from upcall.domain.inquiry.field import Content
from upcall.domain.inquiry.inquiry import (
    DENY,
    Answer,
    Answered,
    Attachment,
    Cancelled,
    Closing,
    Expired,
    Failed,
    Inquiry,
    Kind,
    Open,
    Rejected,
)
from upcall.domain.inquiry.lifecycle import POLICY
from upcall.domain.inquiry.wording import answer_text
from upcall.domain.text.times import waiting

PARKED = "parked"
NOTE = "their note"
FILES = "their files, on the machine of Upcall"
APPROVED_EDITED = (
    "The user approved this with a change. Perform exactly this, and nothing else:\n{after}\n"
    "What they changed:\n{difference}"
)
RAN_EDITED = (
    "The user changed this action before they approved it. What ran is not what you asked for:\n{difference}"
)
SUGGESTED = " They suggest this instead, which you can ask for:\n{after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How asking ended, or that it has not yet: only `answered` carries answers.

    What could not be asked has no id, and `again` says that the same can be asked later. `note` is what the person wrote
    beside their choice, `files` what they sent with it, `waited` how many seconds they took.
    """

    status: str
    id: str
    ref: str
    text: str
    answers: tuple[tuple[str, ...], ...] | None = None
    again: bool = False
    note: str = ""
    files: tuple[Attachment, ...] = ()
    waited: float | None = None
    content: Content | None = None
    """The answer to a form, as its schema describes it."""

    @property
    def worded(self) -> tuple[tuple[str, ...], ...] | None:
        """The answers with note, files and wait after the last of them, for a program that takes answers and nothing else."""
        more = [f"{NOTE}: {self.note}"] if self.note else []
        more += [took] if (took := waiting("answered", self.waited)) else []
        more += [f"{FILES}: {', '.join(paths)}"] if (paths := _paths(self.files)) else []
        if not more or not self.answers:
            return self.answers
        *before, last = self.answers
        said = f"({'; '.join(more)})"
        *values, value = last or ("",)
        return (*before, (*values, f"{value} {said}".strip()))


def outcome(inquiry: Inquiry) -> Outcome:
    """The outcome of an inquiry as it stands; one that is still open is *parked*."""
    match inquiry.state:
        case Open():
            return _outcome(inquiry, PARKED, _asked_back(inquiry) or _parked(inquiry))
        case Answered(answer=answer, closing=closing):
            filled = content(inquiry)
            text = _denial(inquiry, answer) or told_of_plan(inquiry, answer)
            text = text or _answered(inquiry, filled) + _noted(inquiry, answer)
            text += _waited(inquiry, closing, "answered") + _masked(inquiry) + _filed(answer)
            told = _outcome(inquiry, "answered", text, answer.values)
            return _settled(replace(told, files=answer.files, content=filled), inquiry, closing, answer.note)
        case Rejected(closing=closing):
            why = f" Their reason: {closing.reason}" if closing.reason else ""
            told = _outcome(
                inquiry,
                "rejected",
                f"The user declined to answer.{why} Do not ask the same again; choose the most cautious way "
                f"forward or stop and report what is blocking.{_waited(inquiry, closing, 'declined')}",
            )
            return _settled(told, inquiry, closing)
        case Expired():
            return _outcome(inquiry, "expired", _expired(inquiry))
        case Cancelled(closing=closing):
            return _outcome(
                inquiry,
                "cancelled",
                f"The question was withdrawn ({closing.reason or closing.by}). Ask again if you still need it.",
            )
        case Failed(closing=closing):
            return _outcome(
                inquiry,
                "failed",
                f"The question could not be settled ({closing.reason or 'no reason given'}). "
                "Do not assume an answer; stop and report what is blocking.",
            )


def _outcome(
    inquiry: Inquiry, status: str, text: str, answers: tuple[tuple[str, ...], ...] | None = None
) -> Outcome:
    return Outcome(status=status, id=inquiry.id, ref=inquiry.ref, text=text, answers=answers)


def _settled(told: Outcome, inquiry: Inquiry, closing: Closing, note: str = "") -> Outcome:
    waited = None if closing.by == POLICY else round(max(closing.at - inquiry.asked_at, 0.0), 3)
    return replace(told, note=note, waited=waited)


def remark(inquiry: Inquiry) -> str:
    """What a model is told of a yes whose action its program runs: what a person changed, and their note; else empty."""
    match inquiry.state:
        case Answered(answer=Answer(edit=None, note="")) if inquiry.is_approved:
            return ""
        case Answered(answer=answer) if inquiry.is_approved:
            said = [] if answer.edit is None else [RAN_EDITED.format(difference=answer.edit.difference)]
            said += [f"The user approved this, with a note: {answer.note}"] if answer.note else []
            return "\n".join(said)
        case _:
            return ""


def _answered(inquiry: Inquiry, filled: Content | None) -> str:
    if inquiry.is_approved and (edit := inquiry.edit) is not None:
        return APPROVED_EDITED.format(after=edit.after, difference=edit.difference)
    if filled is None:
        return answer_text(inquiry)
    return f"The user filled in the form: {json.dumps(filled, ensure_ascii=False)}"


def _noted(inquiry: Inquiry, answer: Answer) -> str:
    """What was written beside a choice; beside a yes, it changes nothing about the action."""
    if not answer.note:
        return ""
    said = f"\n{NOTE.capitalize()}: {answer.note}"
    if inquiry.kind is not Kind.APPROVAL or answer.edit is not None:
        return said
    return f"{said}\n(The approval is of exactly what was shown; the note is for what you do besides.)"


def _filed(answer: Answer) -> str:
    """Where the files are. It comes last: without the copies, the text is the beginning of the same text with them."""
    paths = _paths(answer.files)
    return f"\n{FILES.capitalize()}:\n" + "\n".join(paths) if paths else ""


def _paths(files: Sequence[Attachment]) -> list[str]:
    return [f"{file.path} ({file.media_type}, {file.size} bytes)" for file in files if file.path]


def _waited(inquiry: Inquiry, closing: Closing, done: str) -> str:
    took = waiting(done, None if closing.by == POLICY else closing.at - inquiry.asked_at)
    return f" ({took})" if took else ""


def _denial(inquiry: Inquiry, answer: Answer) -> str | None:
    """A person's no, in words that leave nothing to read into them; what else they said goes with it."""
    by_policy = isinstance(inquiry.state, Answered) and inquiry.state.closing.by == POLICY
    if inquiry.kind is not Kind.APPROVAL or answer.values != ((DENY,),) or by_policy:
        return None
    words = [text for text in (answer.text, answer.note) if text and text.casefold() not in NEGATIVE]
    said = f" Their words: {'; '.join(words)}" if words else ""
    instead = "" if answer.edit is None else SUGGESTED.format(after=answer.edit.after)
    return f"The user denied this. Do not perform the action.{said}{instead}"


def _parked(inquiry: Inquiry) -> str:
    consent = " This is not a yes." if inquiry.kind.is_consent else ""
    return (
        f"No answer yet.{consent} The question stays open as {inquiry.id} (ref {inquiry.ref}) and the user can "
        f'still answer it. Call wait_for_answer with id "{inquiry.id}" to go on waiting. If you end your turn '
        "instead, say that you are waiting for this answer." + _masked(inquiry)
    )


def _asked_back(inquiry: Inquiry) -> str:
    """What people want to know before they answer, as long as the asker has not said anything to it."""
    words = [each.words for each in inquiry.asked_back if not each.reply]
    if not words:
        return ""
    consent = " and not a yes" if inquiry.kind.is_consent else ""
    asked = "\n".join(words)
    return (
        f"The person asks: {asked}\nThis is not an answer{consent}. The question stays open as {inquiry.id} (ref "
        f'{inquiry.ref}). Call wait_for_answer with id "{inquiry.id}" and what they want to know as `reply`: they read it '
        "beside the question, and the call goes on waiting. If it changes what you have to ask, ask again instead."
        + _masked(inquiry)
    )


def _expired(inquiry: Inquiry) -> str:
    if inquiry.kind is Kind.APPROVAL:
        return "No answer came in time, so this is denied. Do not perform the action."
    return (
        "No answer came in time. This is not consent to anything: choose the most cautious way forward, or stop "
        "and report what is blocking."
    )


def _masked(inquiry: Inquiry) -> str:
    if not inquiry.redacted:
        return ""
    return f" (Note: {inquiry.redacted} secret(s) in your question were masked before it was stored.)"
