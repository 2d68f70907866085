"""Ends the leases of daemons that are dead, so that their work is taken over within seconds.

A daemon is alive as long as its listening connection has the advisory lock that it is named after: the server frees that
lock when the process is gone, and keeps it when the process is only halted or slow. A daemon that is halted keeps its
leases until they end by themselves, as before. One that was merely cut off comes back to jobs with another fence.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from upcall.domain.records import TAKEN_OVER, Happening
from upcall.ports.background import Background
from upcall.stores.postgres.reads import Reads

LOOK_EVERY = 1.0
GRACE = 2.0
"""Seconds for which a daemon's lock must have been missing: it may only be making a new connection."""

_DEAD = """
    SELECT holder FROM (SELECT DISTINCT holder FROM upcall.job WHERE holder <> '') AS held
    WHERE holder <> %s AND NOT EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32 | objid::bigint)::text = held.holder
    )
"""

log = logging.getLogger("upcall.postgres")


class Takeover:
    """Of one daemon, called `holder`. `release` makes the jobs of another due, and says how many there were."""

    def __init__(
        self,
        holder: str,
        reads: Reads,
        release: Callable[[str], Awaitable[int]],
        record: Callable[[Happening], Awaitable[object]],
        clock: Callable[[], float],
    ) -> None:
        self._holder = holder
        self._reads = reads
        self._release = release
        self._record = record
        self._clock = clock
        self._missing: dict[str, float] = {}
        self._looking = Background("looking for the work of dead daemons", self._turn, log)

    def start(self) -> None:
        """Start."""
        self._looking.start()

    async def close(self) -> None:
        """Stop."""
        await self._looking.close()

    async def _turn(self) -> None:
        await asyncio.sleep(LOOK_EVERY)
        known, self._missing = self._missing, {}
        found = await self._reads.rows(_DEAD, (self._holder,))
        now = asyncio.get_running_loop().time()
        # A look that failed in between forgets them all: a daemon that could not look has seen no dead one.
        self._missing = {holder: known.get(holder, now) for (holder,) in found}
        for holder, since in list(self._missing.items()):
            if now - since >= GRACE and (jobs := await self._release(holder)):
                log.info("a daemon is gone; %s of its jobs are taken over", jobs)
                await self._record(Happening(type=TAKEN_OVER, at=self._clock(), data={"jobs": jobs}))
