"""Letting inquiries end when their time has come: one timer, whatever their number."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from upcall.domain import lifecycle
from upcall.domain.errors import StorageError
from upcall.ports import Store

AT_ONCE = 500
LONGEST_NAP = 30.0
"""The wall clock may be set: it is looked at again at least this often, in seconds."""

log = logging.getLogger("upcall.expiry")


class Expiry:
    """Sleeps until the nearest deadline in the store, then expires what is due."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._nearest = float("inf")
        self._nearer = asyncio.Event()
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to sweep."""
        self._sweeping = asyncio.create_task(self._sweep_for_ever())

    async def close(self) -> None:
        """Stop sweeping."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    def expect(self, deadline: float) -> None:
        """Take note of a deadline that may be nearer than all others."""
        if deadline < self._nearest:
            self._nearest = deadline
            self._nearer.set()

    async def _sweep_for_ever(self) -> None:
        while True:
            try:
                await self._sweep()
            except StorageError:
                log.exception("cannot expire what is due; trying again in a second")
                await asyncio.sleep(1)

    async def _sweep(self) -> None:
        self._nearer.clear()
        self._nearest = await self._store.next_expiry() or float("inf")
        nap = min(self._nearest - self._clock(), LONGEST_NAP)
        if nap > 0:
            with suppress(TimeoutError):
                # Not `wait_for`, which may swallow the cancellation that ends us.
                async with asyncio.timeout(nap):
                    await self._nearer.wait()
            return
        now = self._clock()
        due = await self._store.due(now, AT_ONCE)
        await asyncio.gather(*(self._store.update(name, partial(lifecycle.expire, now=now)) for name in due))
