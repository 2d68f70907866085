"""Following the log of a store from a position on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from upcall.ports.background import Background
from upcall.ports.store import Event, Store

WAIT = 30.0
"""Seconds that one read of the log may wait for an event; the next read goes on from there."""

GATHERING = 0.02
"""Seconds that events gather before a follower reads them, so that none of its turns comes before an agent's own."""


class Follower:
    """Hands each event of a store's log to `heed`, in order, from `start` to `close`.

    When reading or `heed` fails, the follower logs it and goes on after a pause, with the same event. `gathering` is how long
    events gather before they are read; 0 is for the one follower that wakes waiting agents.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        heed: Callable[[Event], Awaitable[None]],
        log: logging.Logger,
        *,
        gathering: float = GATHERING,
    ) -> None:
        self._store = store
        self._heed = heed
        self._gathering = gathering
        self._seen = 0
        self._reading = Background(name, self._read, log)

    async def start(self, after: int | None = None) -> None:
        """Begin after that event; without a number, at the end of the log."""
        self._seen = await self._store.last_seq() if after is None else after
        self._reading.start()

    async def close(self) -> None:
        """Stop, in the middle of an event if need be."""
        await self._reading.close()

    async def _read(self) -> None:
        for event in await self._store.events(self._seen, wait=WAIT, gather=self._gathering):
            await self._heed(event)
            self._seen = event.seq


async def follow(store: Store, after: int, seconds: float = 0) -> AsyncIterator[Sequence[Event]]:
    """The events after a number, as they are written, for that many seconds; those that are there in any case."""
    time = asyncio.get_running_loop().time
    deadline = time() + seconds
    while True:
        events = await store.events(after, wait=max(deadline - time(), 0))
        if not events:
            return
        after = events[-1].seq
        yield events
