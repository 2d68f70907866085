"""Asking back: a person's words to the asker of a question that stays open, and what the asker says to them."""

from dataclasses import replace

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.inquiry import AskedBack, Change, Inquiry, Open
from upcall.domain.records import Happening

ASKED_BACK = "asked_back"
"""The type of the event when a person asks back, and the status of a call that returns with their words."""

HEARD = "heard_back"
"""The type of the event when the asker was told."""

REPLIED = "replied"
"""The type of the event when the asker has said something to it."""

MOST = 20
"""How often people can ask back about one inquiry."""


def is_pending(inquiry: Inquiry) -> bool:
    """Whether a person has asked back, and the asker was not told yet."""
    return any(not each.told for each in inquiry.asked_back)


def ask_back(inquiry: Inquiry, words: str, *, by: str, via: str, now: float) -> Change | None:
    """Ask the asker something; the inquiry stays open, with the time that it has.

    Raises:
        InvalidRequest: if it was asked back too often.
    """
    state = inquiry.state
    if not isinstance(state, Open) or state.held or inquiry.is_queued or now >= inquiry.expires_at:
        return None
    if len(state.back) >= MOST:
        raise InvalidRequest(f"it was asked back {MOST} times already", hint="answer or decline it")
    back = (*state.back, AskedBack(by=by, at=now, words=words))
    data: dict[str, object] = {"ref": inquiry.ref, "by": by, "via": via, "text": words}
    return _change(inquiry, replace(state, back=back), Happening(type=ASKED_BACK, at=now, data=data))


def hear(inquiry: Inquiry, now: float) -> Change | None:
    """Record that the asker was told what people have asked back."""
    state = inquiry.state
    if not isinstance(state, Open) or not is_pending(inquiry):
        return None
    back = tuple(replace(each, told=True) for each in state.back)
    return _change(
        inquiry, replace(state, back=back), Happening(type=HEARD, at=now, data={"ref": inquiry.ref})
    )


def reply(inquiry: Inquiry, words: str, now: float) -> Change | None:
    """Put what the asker says beside what it was asked last; nothing where it was asked nothing."""
    state = inquiry.state
    if not isinstance(state, Open) or not state.back:
        return None
    last = replace(state.back[-1], reply=words, told=True)
    data: dict[str, object] = {"ref": inquiry.ref, "text": words}
    return _change(
        inquiry, replace(state, back=(*state.back[:-1], last)), Happening(type=REPLIED, at=now, data=data)
    )


def _change(inquiry: Inquiry, state: Open, happening: Happening) -> Change:
    return Change(inquiry=replace(inquiry, state=state), happening=happening)
