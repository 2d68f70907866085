"""Expires inquiries at their deadline, with one timer for all of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from upcall.domain.inquiry import lifecycle
from upcall.ports.background import Background, each_alone
from upcall.ports.store import Decide, Store, Updated

AT_ONCE = 500
LONGEST_NAP = 30.0
"""The wall clock may be set, and others may ask in the same store: both are looked at this often, in seconds."""

TROUBLED_NAP = 1.0
"""Seconds between two looks while there are inquiries that cannot be expired: they hide the next deadline."""
AGAIN = (5.0, 30.0, 300.0)
"""Seconds before each further try with an inquiry that cannot be expired; the last one from then on."""

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
        # What cannot be expired, such as a row that cannot be read: how often that was tried, and when it is again.
        self._troubled: dict[str, tuple[int, float]] = {}
        self._sweeping = Background("expiring what is due", self._turn, log)

    async def start(self) -> None:
        """Begin to sweep."""
        self._sweeping.start()

    async def close(self) -> None:
        """Stop sweeping."""
        await self._sweeping.close()

    def expect(self, deadline: float) -> None:
        """Take note of a deadline that may be nearer than all others."""
        # One that has been settled since costs a look in vain; asking the store each time would cost more.
        self._nearest = min(self._nearest, deadline)
        self._nearer.set()

    async def _turn(self) -> None:
        # What is expected while the store is being asked counts as well.
        self._nearest = float("inf")
        if self._troubled:
            self.expect(self._clock() + TROUBLED_NAP)
        else:
            self.expect(await self._store.next_expiry() or float("inf"))
        await self._nap()
        await self._sweep()

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
        found = await self._store.due(now, AT_ONCE + len(self._troubled))
        self._troubled = {name: known for name, known in self._troubled.items() if name in set(found)}
        due = [name for name in found if self._troubled.get(name, (0, 0.0))[1] <= now]
        steps = {name: self._update(name, partial(lifecycle.expire, now=now)) for name in due}
        for name, result in (await each_alone(steps, log, "its expiry")).items():
            tried, _ = self._troubled.pop(name, (0, 0.0))
            if isinstance(result, Exception):
                self._troubled[name] = tried + 1, now + AGAIN[min(tried, len(AGAIN) - 1)]
