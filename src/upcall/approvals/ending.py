"""What becomes of approvals when whoever wanted them has ended for good."""

from collections.abc import Sequence
from dataclasses import replace

from upcall.broker.broker import Broker
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.ports.store import Query

PAGE = 200
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
        query = Query(state=state, kind=Kind.APPROVAL, agent=agent, run=run, limit=PAGE)
        denied += await _deny(broker, query, run=run, session=session, reason=reason)
    return denied


async def _deny(
    broker: Broker, query: Query, *, run: int | None, session: str | None, reason: str
) -> Sequence[Inquiry]:
    denied: list[Inquiry] = []
    while True:
        page = await broker.store.find(query)
        for inquiry in page.items:
            origin = inquiry.origin
            if (run is not None and origin.run == run) or (session is not None and origin.session == session):
                settled = await broker.deny(inquiry.id, via=VIA, reason=reason)
                denied += [settled.inquiry] if settled.accepted else []
        if page.next is None:
            return denied
        query = replace(query, cursor=page.next)
