"""Forgetting what is old, a little at a time, where the settings say so."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from upcall.ports.background import Background
from upcall.ports.store import Store

EVERY = 3600.0
AT_ONCE = 500
"""How many inquiries, and events, are forgotten in one step; everybody else's writes go on in between."""

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
        """Begin to forget."""
        self._sweeping.start()

    async def close(self) -> None:
        """Forget nothing more."""
        await self._sweeping.close()

    async def sweep(self) -> int:
        """Forget all that is too old now; how much that was."""
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
