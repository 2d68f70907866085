"""Indexes the words of inquiries in the background, so that a search finds little left to index.

Agents come first: indexing waits until the log is calm, or has been busy for a while, and then takes at most a fifth of the time.
"""

import asyncio
import logging

from upcall.ports.background import Background
from upcall.ports.following import GATHERING, WAIT
from upcall.ports.store import Store

AT_ONCE = 50
"""How many inquiries are indexed in one step; other writes go on between two steps."""

CALM = 1.0
"""Seconds without an event after which the log is calm."""

BUSY = 30.0
"""Seconds after which indexing no longer waits for that."""

PAUSE = 4
"""How long the pause after a step is, in times of that step."""

log = logging.getLogger("upcall.indexing")


class Indexing:
    """Follows the log, and has the store index the words of what has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._after = 0
        self._indexing = Background("indexing words", self._turn, log)

    async def start(self) -> None:
        """Begin with what was written before."""
        self._after = await self._store.last_seq()
        self._indexing.start()

    async def close(self) -> None:
        """Index nothing more; the next search or the next daemon does."""
        await self._indexing.close()

    async def _turn(self) -> None:
        await self._catch_up()
        if await self._store.events(self._after, wait=WAIT, limit=1, gather=GATHERING):
            self._after = await self._calm()

    async def _catch_up(self) -> None:
        time = asyncio.get_running_loop().time
        more = True
        while more:
            began = time()
            more = await self._store.index_words(AT_ONCE) == AT_ONCE
            await asyncio.sleep(PAUSE * (time() - began))

    async def _calm(self) -> int:
        """Wait until the log is calm, or has been busy for long; the number of its latest event then."""
        time = asyncio.get_running_loop().time
        deadline, seen, last = time() + BUSY, 0, await self._store.last_seq()
        # Without a look at each event: the calls of agents need the loop.
        while seen != last and time() < deadline:
            await asyncio.sleep(CALM)
            seen, last = last, await self._store.last_seq()
        return last
