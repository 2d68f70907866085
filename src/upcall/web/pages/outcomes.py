"""How an inquiry ended, or was decided just now, in a sentence."""

from dataclasses import dataclass

from markupsafe import Markup

from upcall.domain.inquiry.inquiry import (
    DENY,
    OWN_TERMINAL,
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
from upcall.domain.text.display import one_line, visible
from upcall.web.pages.locales import Words
from upcall.web.pages.plans import decided_plan, remarks

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Something attached."""

    number: int
    name: str
    size: int
    is_image: bool
    text: Markup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionLine:
    """How it ended, in a sentence, and whether that is good news."""

    sentence: str
    tone: str
    reason: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    files: tuple[File, ...] = ()


def shown_file(number: int, file: Attachment, text: Markup | None = None) -> File:
    """A file as a page names it, with its text where that can be read in place."""
    return File(
        number=number,
        name=one_line(file.name, 80),
        size=file.size,
        is_image=file.media_type.lower() in IMAGES,
        text=text,
    )


def resolution(inquiry: Inquiry, words: Words) -> ResolutionLine | None:
    """How it ended; None while it is open."""
    match inquiry.state:
        case Open():
            return None
        case Answered(closing=closing, answer=answer):
            denied = inquiry.kind is Kind.APPROVAL and answer.values == ((DENY,),)
            shown = [", ".join(values) for values in answer.values]
            if inquiry.secret:
                return ResolutionLine(
                    sentence=words.say("outcome.secret", who=_who(closing.by, words)), tone="answered"
                )
            name = "outcome.denied" if denied else "outcome.answered"
            if inquiry.kind is Kind.APPROVAL and not denied:
                name = "outcome.approved"
            if answer.edit is not None:
                name = "outcome.suggested" if denied else "outcome.approved_edited"
            pairs = tuple(
                (one_line(question.header or question.text, 120), visible(value))
                for question, value in zip(inquiry.questions, shown, strict=True)
                if value
            )
            if (plan := decided_plan(inquiry, answer, words)) is not None:
                shown, pairs = [plan], ()
            several = len(pairs) > 1 or len(shown[0]) > 200
            answered = one_line("; ".join(filter(None, shown)), 200)
            return ResolutionLine(
                sentence=words.say(name, answer=answered, who=_who(closing.by, words)),
                tone="denied" if denied else "answered",
                reason=remarks(answer),
                files=tuple(shown_file(number, file) for number, file in enumerate(answer.files)),
                pairs=pairs if several else (),
            )
        case Cancelled(closing=Closing(via=via)) if via == OWN_TERMINAL:
            return ResolutionLine(sentence=words.say("outcome.own_terminal"), tone="answered")
        case Rejected(closing=closing) | Cancelled(closing=closing):
            return ResolutionLine(
                sentence=words.say(f"outcome.{inquiry.state_name}", who=_who(closing.by, words)),
                tone=inquiry.state_name,
                reason=visible(closing.reason or ""),
            )
        case Expired():
            return ResolutionLine(sentence=words.say("outcome.expired"), tone="expired")
        case Failed(closing=closing):
            return ResolutionLine(
                sentence=words.say("outcome.failed"), tone="failed", reason=visible(closing.reason or "")
            )


def held_line(inquiry: Inquiry, words: Words) -> str:
    """What was decided, in the words of its button, and the asker that is told next."""
    held = inquiry.held
    if held is None:
        return ""
    shown = words.say("card.reject" if isinstance(held.decision, Rejected) else "held.secret")
    if isinstance(held.decision, Answered) and not inquiry.secret:
        shown = one_line("; ".join(", ".join(values) for values in held.decision.answer.values if values), 80)
        shown = decided_plan(inquiry, held.decision.answer, words) or shown
        if inquiry.kind is Kind.APPROVAL:
            shown = words.say("card.deny" if shown == DENY else "card.approve")
    return words.say("held.line", answer=shown, agent=one_line(inquiry.origin.asker, 60))


def _who(name: str, words: Words) -> str:
    return words.say("who.policy") if name == POLICY else one_line(name, 60)
