"""Reads the log in batches, a moment after what happened: a reader that never makes a write wait for it."""

import asyncio
import logging
from collections.abc import Callable

from upcall.domain.errors import StorageError
from upcall.ports.background import Background
from upcall.ports.following import GATHERING, WAIT, follow
from upcall.ports.store import Event, Store

PAUSE = 1.0
"""Seconds between two batches: many events then cost one turn of the loop."""


class Batches:
    """Hands each event of a store's log to `take`, in order, once."""

    def __init__(self, name: str, store: Store, take: Callable[[Event], None], log: logging.Logger) -> None:
        self._store = store
        self._take = take
        self._log = log
        self._seen: int | None = None
        self._reading = asyncio.Lock()
        self._turns = Background(name, self._turn, log)

    async def start(self) -> None:
        """Begin at the end of the log."""
        await self.catch_up()
        self._turns.start()

    async def close(self) -> None:
        """Take what is there, and stop."""
        await self._turns.close()
        try:
            await self.catch_up()
        except StorageError as error:
            self._log.warning("the end of the log cannot be read: %s", error.message)

    async def catch_up(self) -> None:
        """Take everything that has been written by now. What came before the first look is history."""
        async with self._reading:
            if self._seen is None:
                self._seen = await self._store.last_seq()
            async for events in follow(self._store, self._seen):
                for event in events:
                    self._seen = event.seq
                    try:
                        self._take(event)
                    except Exception:  # noqa: BLE001 - one event that cannot be understood must not be the last that is seen
                        self._log.exception("event %s could not be taken", event.seq)

    async def _turn(self) -> None:
        if await self._store.events(self._seen or 0, wait=WAIT, limit=1, gather=GATHERING):
            await self.catch_up()
            await asyncio.sleep(PAUSE)
