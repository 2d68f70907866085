"""The rules by which an inquiry opens and ends.

Every function looks at an inquiry and returns the `Change` to make, or None when nothing is to change because
something else already decided. A store runs them inside its transaction, so the first to get there wins.
"""

from dataclasses import replace

from upcall.domain.errors import KeyConflict
from upcall.domain.inquiry.activity import Activity
from upcall.domain.inquiry.inquiry import (
    APPROVE,
    DENY,
    STATE_NAMES,
    Answer,
    Answered,
    Cancelled,
    Change,
    Closed,
    Closing,
    Edit,
    Expired,
    Failed,
    Held,
    Inquiry,
    Kind,
    OnExpiry,
    Open,
    Rejected,
)
from upcall.domain.records import Happening

POLICY = "policy"
"""The name under which Upcall itself closes an inquiry."""

RELEASE_AFTER = 5.0
"""Seconds after an answer in which the agent may show that it has it, before the next one in line is asked."""

ACTIVATED = "activated"
"""The type of the event when the turn of a queued inquiry has come."""

HELD = "held"
"""The type of the event when a decision was made that can still be undone."""

UNDONE = "undone"
"""The type of the event when such a decision was taken back."""

OBSERVED = "activity"
"""The type of the event when it was read what the agent of an inquiry was doing."""

INPUT_TIMEOUT = "input_timeout"
"""The reason of an inquiry that failed because no answer came in time."""


def asked(inquiry: Inquiry) -> Change:
    """The opening step of a new inquiry."""
    data: dict[str, object] = {
        "ref": inquiry.ref,
        "kind": inquiry.kind.value,
        "agent": inquiry.origin.agent,
        "session": inquiry.origin.session,
    }
    return Change(inquiry=inquiry, happening=Happening(type="asked", at=inquiry.asked_at, data=data))


def activate(inquiry: Inquiry, now: float) -> Change | None:
    """Put an inquiry to people that had to wait for its turn; its time begins now."""
    match inquiry.state:
        case Open(queued=ttl) as state if ttl is not None:
            expires_at = now + ttl
            data = {**asked(inquiry).happening.data, "expires_at": expires_at}
            return Change(
                inquiry=replace(inquiry, expires_at=expires_at, state=replace(state, queued=None)),
                happening=Happening(type=ACTIVATED, at=now, data=data),
            )
        case _:
            return None


def rejoins(earlier: Inquiry, later: Inquiry, now: float) -> bool:
    """Whether `later`, asked under the same request key, is `earlier` asked again.

    A yes belongs to its time: an approval past its ttl is never handed out again.

    Raises:
        KeyConflict: if the two ask different things.
    """
    if earlier.kind.is_consent and now >= earlier.expires_at:
        return False
    if earlier.digest != later.digest:
        raise KeyConflict(later.origin.request_key or "")
    return True


def answer(inquiry: Inquiry, given: Answer, closing: Closing, *, force: bool = False) -> Change | None:
    """Settle with a person's answer; an expired inquiry takes one only by force.

    An approval that takes several people stays open until enough of them have approved the same, each counted once: an edited
    action takes as many of its own.
    """
    # An inquiry past its deadline expires first, even if the expiry task has not run yet.
    ended = expire(inquiry, closing.at)
    if inquiry.held:
        return ended
    late = not (inquiry.is_open if ended is None else ended.inquiry.is_open)
    if late and not (force and takes_force(inquiry if ended is None else ended.inquiry)):
        return ended
    before = inquiry.state.votes if isinstance(inquiry.state, Open) else ()
    if inquiry.quorum > 1 and given.values == ((APPROVE,),):
        same = inquiry.votes_for(closing.edited)
        if late or any(vote.by == closing.by for vote in same):
            return ended
        if len(same) + 1 < inquiry.quorum:
            return _vote(inquiry, closing, given.edit)
    settled = Answered(closing=closing, answer=given, votes=before)
    return _close(inquiry, settled, _said(inquiry, settled) | ({"late": True} if late else {}))


def takes_force(inquiry: Inquiry) -> bool:
    """Whether an answer by force still counts: the inquiry ended by its deadline alone, without a decision."""
    match inquiry.state:
        case Expired():
            return True
        case Failed(closing=closing):
            return closing.reason == INPUT_TIMEOUT
        case _:
            return False


def reject(inquiry: Inquiry, closing: Closing) -> Change | None:
    """Settle with a person's refusal to answer."""
    if not inquiry.is_open or inquiry.held:
        return None
    if closing.at >= inquiry.expires_at:
        return expire(inquiry, closing.at)
    return _close(inquiry, Rejected(closing=closing), {})


def cancel(inquiry: Inquiry, closing: Closing) -> Change | None:
    """Withdraw the question on the asker's side."""
    return _end(inquiry, Cancelled(closing=closing))


def fail(inquiry: Inquiry, closing: Closing) -> Change | None:
    """Give up: no place takes the question."""
    return _end(inquiry, Failed(closing=closing))


def expire(inquiry: Inquiry, now: float) -> Change | None:
    """End an inquiry that is past its deadline, in the way that its asker or a policy chose.

    One that a person has decided takes that decision, as soon as it cannot be undone any more.
    """
    if (held := inquiry.held) is not None:
        return _release(inquiry, held, now) if now >= held.until else None
    if not inquiry.is_open or now < inquiry.expires_at:
        return None
    match inquiry.on_expiry:
        case OnExpiry.DEFAULT if inquiry.default is not None:
            # No other default of an approval gets this far; if one did, silence would still not be consent.
            label = DENY if inquiry.kind is Kind.APPROVAL else inquiry.default
            return _close_by_default(inquiry, label, now)
        case OnExpiry.DENY if inquiry.kind is Kind.APPROVAL:
            return _close_by_default(inquiry, DENY, now)
        case OnExpiry.FAIL:
            closing = Closing(by=POLICY, via="expiry", at=now, reason=INPUT_TIMEOUT)
            return _close(inquiry, Failed(closing=closing), {})
        case _:
            closing = Closing(by=POLICY, via="expiry", at=now, reason="ttl")
            return _close(inquiry, Expired(closing=closing), {})


def deny(inquiry: Inquiry, closing: Closing) -> Change | None:
    """Deny an approval that its asker no longer waits for."""
    if not inquiry.is_open or inquiry.kind is not Kind.APPROVAL:
        return None
    denied = Answered(closing=closing, answer=Answer(values=((DENY,),), text=DENY))
    return _end(inquiry, denied)


def snooze(inquiry: Inquiry, until: float, *, by: str, now: float) -> Change | None:
    """Keep quiet about an open inquiry for a while. It stays answerable, and it is not a refusal."""
    match inquiry.state:
        case Open(held=None) as state:
            happening = Happening(type="snoozed", at=now, data={"by": by, "until": until})
            return Change(
                inquiry=replace(inquiry, state=replace(state, snoozed_until=until)), happening=happening
            )
        case _:
            return None


def extend(inquiry: Inquiry, seconds: float, *, by: str, now: float) -> Change | None:
    """Give an open inquiry more time, counted from now if that is later than what it has."""
    if not inquiry.is_open or inquiry.held or now >= inquiry.expires_at:
        return expire(inquiry, now)
    expires_at = max(inquiry.expires_at, now + seconds)
    happening = Happening(type="extended", at=now, data={"by": by, "expires_at": expires_at})
    return Change(inquiry=replace(inquiry, expires_at=expires_at), happening=happening)


def hold(before: Inquiry, change: Change, seconds: float) -> Change:
    """The same decision of a person, kept from the asker for some seconds, in which it can be undone.

    It stands against all others from the start. A vote that decides nothing yet, and an answer to what had expired, are
    not held.
    """
    match before.state, change.inquiry.state:
        case Open() as state, (Answered() | Rejected()) as decision if (
            seconds and decision.closing.by != POLICY
        ):
            closing = decision.closing
            held = Held(decision=decision, until=closing.at + seconds)
            # The log of the asker has this event too: what was decided is not in it.
            data: dict[str, object] = {"ref": before.ref, "by": closing.by, "via": closing.via}
            happening = Happening(type=HELD, at=closing.at, data=data | {"until": held.until})
            return Change(
                inquiry=replace(before, state=replace(state, held=held)),
                happening=happening,
            )
        case _:
            return change


def undo(inquiry: Inquiry, *, by: str, now: float) -> Change | None:
    """Take back a decision of which the asker was not told yet: the inquiry is open again, with the time that it has."""
    held, state = inquiry.held, inquiry.state
    if held is None or now >= held.until:
        return expire(inquiry, now)
    assert isinstance(state, Open)
    data: dict[str, object] = {"ref": inquiry.ref, "by": by, "decided_by": held.decision.closing.by}
    data |= {"decision": STATE_NAMES[type(held.decision)], **_said(inquiry, held.decision)}
    return Change(
        inquiry=replace(inquiry, state=replace(state, held=None)),
        happening=Happening(type=UNDONE, at=now, data=data),
    )


def observe(inquiry: Inquiry, activity: Activity, now: float) -> Change | None:
    """Add what the agent was doing when it asked; only to an open inquiry, and once."""
    if not inquiry.is_open or inquiry.activity is not None:
        return None
    happening = Happening(type=OBSERVED, at=now, data={"ref": inquiry.ref})
    return Change(inquiry=replace(inquiry, activity=activity), happening=happening)


def forward(inquiry: Inquiry, run: int, now: float) -> Change | None:
    """Record that the agent's session is being brought back for this answer; each attempt is said, the first is kept."""
    match inquiry.state:
        case Answered(collected_at=None) as settled:
            happening = Happening(type="forwarded", at=now, data={"ref": inquiry.ref, "run": run})
            state = replace(settled, forwarded_at=settled.forwarded_at or now)
            return Change(inquiry=replace(inquiry, state=state), happening=happening)
        case _:
            return None


def release(inquiry: Inquiry, now: float) -> Change | None:
    """Let the next question of its thread be put, though nothing shows yet that the agent has this answer.

    An agent that asked both at once may be unable to show it before it has the other answer, too.
    """
    match inquiry.state:
        case Answered(collected_at=None, released_at=None, closing=closing) as settled if (
            now >= closing.at + RELEASE_AFTER
        ):
            happening = Happening(type="released", at=now, data={"ref": inquiry.ref})
            return Change(
                inquiry=replace(inquiry, state=replace(settled, released_at=now)), happening=happening
            )
        case _:
            return None


def collect(inquiry: Inquiry, evidence: str, now: float) -> Change | None:
    """Record that the agent has its answer; only the first evidence counts."""
    match inquiry.state:
        case Answered(collected_at=None) as settled:
            happening = Happening(type="collected", at=now, data={"evidence": evidence})
            return Change(
                inquiry=replace(inquiry, state=replace(settled, collected_at=now)), happening=happening
            )
        case _:
            return None


def _vote(inquiry: Inquiry, vote: Closing, edit: Edit | None) -> Change:
    state = inquiry.state
    assert isinstance(state, Open)
    known = edit is None or any(each.digest == edit.digest for each in state.edits)
    voted = replace(
        inquiry,
        state=replace(
            state,
            votes=(*state.votes, vote),
            edits=state.edits if known or edit is None else (*state.edits, edit),
        ),
    )
    data: dict[str, object] = {"by": vote.by, "via": vote.via, "given": len(voted.votes_for(vote.edited))}
    data |= {"needed": inquiry.quorum, **_edited(inquiry, edit)}
    return Change(inquiry=voted, happening=Happening(type="voted", at=vote.at, data=data))


def _edited(inquiry: Inquiry, edit: Edit | None) -> dict[str, object]:
    """What the log has of an edited action: both hashes, both texts and the difference."""
    if edit is None:
        return {}
    return {
        "edit": {
            "asked_sha256": inquiry.digest,
            "sha256": edit.digest,
            "before": edit.before,
            "after": edit.after,
            "difference": edit.difference,
        }
    }


def _close_by_default(inquiry: Inquiry, label: str, now: float) -> Change:
    closing = Closing(by=POLICY, via="default", at=now, reason="ttl")
    given = Answer(values=tuple((label,) for _ in inquiry.questions), text=label)
    data: dict[str, object] = {"answers": [list(values) for values in given.values]}
    return _close(inquiry, Answered(closing=closing, answer=given), data)


def _said(inquiry: Inquiry, state: Closed) -> dict[str, object]:
    """What the log has of the words of a decision."""
    if not isinstance(state, Answered):
        return {}
    if inquiry.secret:
        return {"secret": True}
    said: dict[str, object] = {"answers": [list(each) for each in state.answer.values]}
    said |= {"note": note} if (note := state.answer.note) else {}
    said |= {"comments": len(comments)} if (comments := state.answer.comments) else {}
    said |= _edited(inquiry, state.answer.edit)
    return said | ({"files": [file.name for file in files]} if (files := state.answer.files) else {})


def _release(inquiry: Inquiry, held: Held, now: float) -> Change:
    """Settle with the decision that was held."""
    change = _close(inquiry, held.decision, _said(inquiry, held.decision))
    return replace(change, happening=replace(change.happening, at=now))


def _end(inquiry: Inquiry, state: Closed) -> Change | None:
    """End an open inquiry on the asker's side; a person who has decided before was first."""
    if (held := inquiry.held) is not None:
        return _release(inquiry, held, state.closing.at)
    return _close(inquiry, state, _said(inquiry, state)) if inquiry.is_open else None


def _close(inquiry: Inquiry, state: Closed, data: dict[str, object]) -> Change:
    closing = state.closing
    data |= {"ref": inquiry.ref, "by": closing.by, "via": closing.via}
    if closing.reason is not None:
        data["reason"] = closing.reason
    if inquiry.is_queued:
        data["queued"] = True
    happening = Happening(type=STATE_NAMES[type(state)], at=closing.at, data=data)
    return Change(inquiry=replace(inquiry, state=state), happening=happening)
