"""Denials that stand: an action that a person denied is not asked about again before the session's next turn.

A turn is what an agent does between two messages of a person. A denial is kept as a record of the session, is forgotten
when the next turn begins, and holds at most as long as the approval could have been given.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from upcall.domain.inquiry.inquiry import DENY, Answered, Change, Inquiry, Rejected
from upcall.domain.records import NOTHING, Effects, Record

KIND = "denial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A denial: its inquiry, the text that the agent was told, and its deadline."""

    reason: str
    inquiry: str
    until: float


def session_key(agent: str, session: str) -> str:
    """The state of the records of one session's denials."""
    return _hash(agent, session)


def denial_key(agent: str, session: str, digest: str) -> str:
    """The key of the record of a denial."""
    return _hash(agent, session, digest)


def remembered(change: Change, reason: str) -> Effects:
    """The record that a step with a denial adds."""
    inquiry = change.inquiry
    if inquiry.subject is None or not _is_denied(inquiry):
        return NOTHING
    origin = inquiry.origin
    body = {"reason": reason, "inquiry": inquiry.id, "until": inquiry.expires_at}
    record = Record(
        kind=KIND,
        key=denial_key(origin.agent, origin.session, inquiry.digest),
        state=session_key(origin.agent, origin.session),
        at=change.happening.at,
        body=body,
    )
    return Effects(records=(record,))


def denial_in(record: Record) -> Denial:
    """The denial that a record holds."""
    body: dict[str, Any] = dict(record.body)
    return Denial(**body)


def _is_denied(inquiry: Inquiry) -> bool:
    match inquiry.state:
        case Answered(answer=answer):
            return answer.values == ((DENY,),)
        case state:
            return isinstance(state, Rejected)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
