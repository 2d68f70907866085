"""Letting inquiries end when their time has come: one timer, whatever their number."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from upcall.domain import lifecycle
from upcall.domain.errors import StorageError
from upcall.ports import Decide, Store, Updated

AT_ONCE = 500
LONGEST_NAP = 30.0
"""The wall clock may be set, and others may ask in the same store: both are looked at this often, in seconds."""

log = logging.getLogger("upcall.expiry")

Update = Callable[[str, Decide], Awaitable[Updated]]
"""Takes a step of an inquiry, with everything that follows from it."""


class Expiry:
    """Sleeps until the nearest deadline in the store, then expires what is due."""

    def __init__(self, store: Store, clock: Callable[[], float], update: Update) -> None:
        self._store = store
        self._clock = clock
        self._update = update
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
        # One that has been settled since costs a look in vain; asking the store each time would cost more.
        self._nearest = min(self._nearest, deadline)
        self._nearer.set()

    async def _sweep_for_ever(self) -> None:
        while True:
            try:
                # What is expected while the store is being asked counts as well.
                self._nearest = float("inf")
                self.expect(await self._store.next_expiry() or float("inf"))
                await self._nap()
                await self._sweep()
            except StorageError:
                log.exception("cannot expire what is due; trying again in a second")
                await asyncio.sleep(1)

    async def _nap(self) -> None:
        """Sleep until the nearest deadline, which may come nearer meanwhile, but not for long."""
        loop = asyncio.get_running_loop()
        wakes = loop.time() + LONGEST_NAP
        while (left := min(self._nearest - self._clock(), wakes - loop.time())) > 0:
            self._nearer.clear()
            with suppress(TimeoutError):
                # Not `wait_for`, which may swallow the cancellation that ends us.
                async with asyncio.timeout(left):
                    await self._nearer.wait()

    async def _sweep(self) -> None:
        now = self._clock()
        due = await self._store.due(now, AT_ONCE)
        await asyncio.gather(*(self._update(name, partial(lifecycle.expire, now=now)) for name in due))
