"""The denials of a session: found for an action, and forgotten when its next turn begins."""

from upcall.domain.approval import denials
from upcall.domain.approval.denials import Denial
from upcall.domain.records import Effects, Record
from upcall.ports.store import Ledger

PAGE = 200


async def find(ledger: Ledger, agent: str, session: str, digest: str, now: float) -> Denial | None:
    """The denial of an action that still stands."""
    record = await ledger.look_up(denials.KIND, denials.denial_key(agent, session, digest))
    if record is None:
        return None
    found = denials.denial_in(record)
    return found if now < found.until else None


async def forget(ledger: Ledger, agent: str, session: str) -> None:
    """Let a session ask anew for everything that it was denied."""
    state = denials.session_key(agent, session)
    while page := (await ledger.records(denials.KIND, state=state, limit=PAGE)).items:
        gone = Effects(forgotten=tuple((denials.KIND, record.key) for record in page))

        def forgetting(_: Record | None, gone: Effects = gone) -> Effects:
            return gone

        await ledger.revise(denials.KIND, page[0].key, forgetting)
