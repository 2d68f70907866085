"""Forgetting what channels keep that belongs to no inquiry: codes, wrong ones, and words that answered nothing."""

from functools import partial

from upcall.dispatch.people import CODE, FAILURES
from upcall.domain.channel.delivery import HEARD
from upcall.domain.records import Effects, Record
from upcall.ports.paging import each_record
from upcall.ports.store import Ledger

_KINDS = ((CODE, None), (FAILURES, None), (HEARD, ""))
"""The kinds of records, and the state of those that no inquiry takes with it."""


async def forget(ledger: Ledger, before: float) -> int:
    """Forget what is older than that; how much it was."""
    forgotten = 0
    for kind, state in _KINDS:
        async for record in each_record(ledger, kind, state):
            if record.at < before:
                await ledger.revise(kind, record.key, partial(_gone, before))
                forgotten += 1
    return forgotten


def _gone(before: float, kept: Record | None) -> Effects | None:
    # Another wrong code may have come meanwhile.
    if kept is None or kept.at >= before:
        return None
    return Effects(forgotten=((kept.kind, kept.key),))
