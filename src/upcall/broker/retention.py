"""Prunes what is older than the settings keep, a little at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from upcall.ports.background import Background
from upcall.ports.store import Store

EVERY = 3600.0
AT_ONCE = 500
"""How many inquiries, and events, are pruned in one step; other writes go on between two steps."""

log = logging.getLogger("upcall.retention")


class Retention:
    """Keeps what was closed for so many seconds, and the log for as long; `others` forget what else is older."""

    def __init__(self, store: Store, seconds: float, *others: Callable[[float], Awaitable[int]]) -> None:
        self._store = store
        self._seconds = seconds
        self._others = others
        # What fails now is likely to fail in a second as well, and nothing is lost by an hour.
        self._sweeping = Background("forgetting what is old", self._turn, log, pauses=(EVERY,))

    async def start(self) -> None:
        """Begin to prune."""
        self._sweeping.start()

    async def close(self) -> None:
        """Prune nothing more."""
        await self._sweeping.close()

    async def sweep(self) -> int:
        """Prune all that is too old now; returns the number removed."""
        before, forgotten = self._store.now() - self._seconds, 0
        while some := await self._store.prune(before, AT_ONCE):
            forgotten += some
        for forget in self._others:
            forgotten += await forget(before)
        return forgotten

    async def _turn(self) -> None:
        forgotten = await self.sweep()
        if forgotten:
            log.info("forgot %s old inquiries, events, runs and codes", forgotten)
        await asyncio.sleep(EVERY)
