"""Denies the approvals that a run or session left open when it ended for good."""

from collections.abc import Sequence

from upcall.broker.broker import Broker
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.ports.paging import each_inquiry
from upcall.ports.store import Query

VIA = "worker_end"


async def deny_open(
    broker: Broker,
    agent: str,
    *,
    run: int | None = None,
    session: str | None = None,
    reason: str = "worker_ended",
) -> Sequence[Inquiry]:
    """Deny the open approvals of a run, or of an agent's session. Returns the denied inquiries."""
    denied: list[Inquiry] = []
    # The queued ones first: the end of an open one would activate the next.
    for state in ("queued", "open"):
        query = Query(state=state, kind=Kind.APPROVAL, agent=agent, run=run)
        denied += await _deny(broker, query, run=run, session=session, reason=reason)
    return denied


async def _deny(
    broker: Broker, query: Query, *, run: int | None, session: str | None, reason: str
) -> Sequence[Inquiry]:
    denied: list[Inquiry] = []
    async for inquiry in each_inquiry(broker.store, query):
        origin = inquiry.origin
        if (run is not None and origin.run == run) or (session is not None and origin.session == session):
            settled = await broker.deny(inquiry.id, via=VIA, reason=reason)
            denied += [settled.inquiry] if settled.accepted else []
    return denied
