"""A store that keeps nothing: the same harness without storage, which is the limit for any store."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Inquiry
from upcall.domain.records import NOTHING, Effects
from upcall.ports.store import Added, Decide, Event, Records, Updated


class NullStore:
    """The part of `Store` that asking, waiting and answering need, on a dictionary and one list."""

    def __init__(self) -> None:
        self._inquiries: dict[str, Inquiry] = {}
        self._log: list[Event] = []
        self._seq = 0
        self._grown: asyncio.Future[None] | None = None

    def now(self) -> float:
        return time.time()

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = (), effects: Effects = NOTHING) -> Added:
        added = replace(inquiry, ref="a2")
        self._apply(lifecycle.asked(added))
        return Added(inquiry=added, created=True)

    async def get(self, name: str) -> Inquiry:
        return self._inquiries[name]

    async def update(self, name: str, decide: Decide) -> Updated:
        before = self._inquiries[name]
        change = decide(before)
        if change is None:
            return Updated(inquiry=before, applied=False)
        self._apply(change)
        return Updated(inquiry=change.inquiry, applied=True)

    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        """Everything since the last call: there is one reader, and it never reads an event again."""
        if not self._log:
            self._grown = asyncio.get_running_loop().create_future()
            await self._grown
            self._grown = None
        log, self._log = self._log, []
        return log

    async def last_seq(self) -> int:
        return self._seq

    async def due(self, now: float, limit: int) -> Sequence[str]:
        return ()

    async def next_expiry(self) -> float | None:
        return None

    async def records(
        self, kind: str, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Records:
        """Nothing is ever left waiting in line."""
        return Records(items=(), next=None)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _apply(self, change: Change) -> None:
        self._seq += 1
        inquiry, happening = change.inquiry, change.happening
        if inquiry.is_open:
            self._inquiries[inquiry.id] = inquiry
        else:
            self._inquiries.pop(inquiry.id, None)
        self._log.append(
            Event(
                seq=self._seq,
                type=happening.type,
                inquiry=inquiry.id,
                at=happening.at,
                data=happening.data,
                subject=inquiry,
            )
        )
        if self._grown is not None and not self._grown.done():
            self._grown.set_result(None)
