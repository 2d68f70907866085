"""What becomes of approvals when whoever wanted them has ended for good."""

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
    """Deny the approvals that a run, or a session of an agent, left open; those that were, as they are now."""
    denied: list[Inquiry] = []
    # Those first that wait for their turn, so that none of them is put to anybody by the end of another.
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
