"""What a person decides about a plan. Words that are no decision send it back with them; only a clear yes approves."""

import re
from collections.abc import Sequence
from dataclasses import replace

from upcall.domain.answer import comments as commenting
from upcall.domain.answer.comments import Remarks
from upcall.domain.answer.matching import NUMBER, Choices, bare
from upcall.domain.errors import EmptyAnswer, NoteUnread, UnreadableAnswer
from upcall.domain.inquiry.comment import Comment
from upcall.domain.inquiry.inquiry import APPROVE, Answer, Inquiry
from upcall.domain.inquiry.plans import REJECT, REVISE, decision, is_approved

YES = frozenset({"approve", "approved", "yes", "y", "ok", "allow"})
NO = frozenset({"reject", "rejected", "no", "n", "deny", "denied"})
_LED = re.compile(r"(revise|reject)\b[ \t]*[:,.;\u2013\u2014-]?[ \t\n]*(.+)", re.IGNORECASE | re.DOTALL)
_WHAT = "say what should change"
_HINT = "write it, quote a passage with `> `, or name a line: `L3: …`"


def read(inquiry: Inquiry, raw: str) -> Answer:
    """The decision in words: a label, a number, a yes or a no; anything else is what should change."""
    labels = inquiry.questions[0].labels
    word = bare(raw)
    number = NUMBER.fullmatch(word)
    place = int(number[1]) - 1 if number else Choices(labels).named(word)
    if place is not None and 0 <= place < len(labels):
        return Answer(values=((labels[place],),), text=raw)
    # Letters of other alphabets that fold to these are doubt enough.
    folded = word.casefold() if word.isascii() else ""
    if folded in YES or folded in NO:
        return Answer(values=((APPROVE if folded in YES else REJECT,),), text=raw)
    if led := _LED.match(raw):
        label = REVISE if led[1].casefold() == REVISE.casefold() else REJECT
        return Answer(values=((label,),), text=raw, note=led[2].strip())
    return Answer(values=((REVISE,),), text=raw, note=raw)


def take(inquiry: Inquiry, values: Sequence[str]) -> Answer:
    """The decision of a form: a label, own words that should change it, or both.

    Raises:
        EmptyAnswer: if there is neither.
        UnreadableAnswer: if there are two decisions.
    """
    labels = inquiry.questions[0].labels
    options = Choices(labels)
    chosen = [labels[place] for value in values if (place := options.named(value)) is not None]
    said = "\n".join(value.strip() for value in values if value.strip() and options.named(value) is None)
    if not chosen and not said:
        raise EmptyAnswer
    if len(set(chosen)) > 1:
        raise UnreadableAnswer("a plan takes one decision", hint=f"one of {', '.join(labels)}")
    label = chosen[0] if chosen else REVISE
    return Answer(values=((label,),), text=f"{label}\n{said}".strip(), note=said)


def completed(inquiry: Inquiry, answer: Answer, note: str, comments: Sequence[Comment]) -> Answer:
    """A decision with everything that was said about the plan.

    Raises:
        InvalidRequest: if a comment is about a line that the plan does not have.
        UnreadableAnswer: if it is to be revised, and nothing says how.
        NoteUnread: if it is approved with words that the model would not read.
    """
    remarks = commenting.read("\n\n".join(part for part in (answer.note, note) if part), inquiry.context)
    given = (*commenting.placed(comments, inquiry.context), *remarks.comments)
    made = replace(answer, note=remarks.note, comments=given)
    if answer.values == ((REVISE,),) and not (made.note or given):
        raise UnreadableAnswer(_WHAT, hint=_HINT)
    if is_approved(made) and (made.note or given):
        raise NoteUnread(
            "an approved plan is carried out as it is, and the agent would not read your comments",
            hint="revise it with them, or approve it without",
        )
    return made


def told(inquiry: Inquiry, answer: Answer) -> str | None:
    """What the model is told of a decision; None for another kind of answer."""
    remarks = commenting.quoted(Remarks(comments=answer.comments, note=answer.note))
    match decision(inquiry, answer):
        case "approve":
            return "The user approved the plan."
        case "accept_edits":
            return "The user approved the plan, and accepts edits of files without further questions."
        case "revise":
            return (
                "The user wants the plan revised. Do not carry it out. Change it as they say, then submit the whole "
                f"plan again. Their comments:\n\n{remarks}"
            )
        case "reject":
            why = f" Their words:\n\n{remarks}" if remarks else ""
            return f"The user rejected the plan. Do not carry it out and do not submit it again.{why}"
        case _:
            return None
