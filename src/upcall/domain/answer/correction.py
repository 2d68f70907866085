"""A correction: what an agent is told when a person takes another view of an answer that it was given."""

from upcall.domain.answer.outcome import outcome
from upcall.domain.errors import CannotTell, NotAnswered
from upcall.domain.inquiry.inquiry import Answered, Change, Inquiry
from upcall.domain.records import Happening

CORRECTED = "corrected"
"""The type of the event when an agent was told a correction."""

NO_CONSENT = "A correction approves nothing: ask again before you do what needs an approval."


def check(inquiry: Inquiry) -> None:
    """Make sure that there is an answer to correct.

    Raises:
        NotAnswered: if there is none, or it can still be undone.
    """
    if isinstance(inquiry.state, Answered):
        return
    hint = "undo the decision, which the agent does not know yet" if inquiry.held else "answer it"
    raise NotAnswered(f"{inquiry.ref} has no answer that could be corrected", hint=hint)


def has_way(inquiry: Inquiry) -> bool:
    """Whether there may be a way to the agent: its run, its thread, or the run that its session was brought back as."""
    match inquiry.state:
        case Answered(forwarded_at=forwarded):
            return not (inquiry.origin.run is None and inquiry.origin.thread is None and forwarded is None)
        case _:
            return False


def message(inquiry: Inquiry, words: str, by: str) -> str:
    """What the agent is told: what it asked, the old answer as a quotation, and the correction.

    The answer to a secret question is not repeated.
    """
    asked = [f"You asked: {question.text}" for question in inquiry.questions]
    quoted = [] if inquiry.secret else ["The old answer was:", *(f"> {line}" for line in _old(inquiry))]
    last = [NO_CONSENT] if inquiry.kind.is_consent else []
    return "\n".join(
        [
            f"{by} corrects an answer that you were given.",
            *asked,
            *quoted,
            f"The correction: {words}",
            "Go by the correction from now on, and mend what you have done because of the old answer.",
            *last,
        ]
    )


def _old(inquiry: Inquiry) -> list[str]:
    given = outcome(inquiry).worded or ()
    return [line for values in given for line in ", ".join(values).splitlines()]


def corrected(inquiry: Inquiry, words: str, *, by: str, via: str, to: str, now: float) -> Change:
    """The step that records a correction; the answer stands as it was given."""
    data: dict[str, object] = {"ref": inquiry.ref, "by": by, "via": via, "to": to}
    data |= {"secret": True} if inquiry.secret else {"text": words}
    return Change(inquiry=inquiry, happening=Happening(type=CORRECTED, at=now, data=data))


def cannot_tell(inquiry: Inquiry) -> CannotTell:
    """The error that the agent of an inquiry cannot be told anything more."""
    return CannotTell(
        f"the agent that asked {inquiry.ref} cannot be told: it is no run with a session, and has no thread",
        hint="tell it where it works",
    )
