"""Gives memory back to the system when a crowd of connections has left.

The C library keeps what was freed for its own next use, in the middle of its heap even for ever.
"""

import asyncio
import logging
import sys
from collections.abc import Callable

from upcall.ports.background import Background

EVERY = 5.0
"""Seconds between two looks."""

CROWD = 500
"""Connections from which on it is worth it: fewer leave some megabytes."""

log = logging.getLogger("upcall.memory")


class FreedMemory:
    """Counts connections, and has the free memory returned once half of a crowd has left."""

    def __init__(
        self, connections: Callable[[], int], give_back: Callable[[], None], *, every: float = EVERY
    ) -> None:
        self._connections = connections
        self._give_back = give_back
        self._every = every
        self._most = 0
        self._looking = Background("returning free memory", self._look, log)

    def start(self) -> None:
        """Begin to look."""
        self._looking.start()

    async def close(self) -> None:
        """Look no more."""
        await self._looking.close()

    async def _look(self) -> None:
        await asyncio.sleep(self._every)
        now = self._connections()
        self._most = max(self._most, now)
        if self._most >= CROWD and now <= self._most // 2:
            self._most = now
            # It takes milliseconds for each hundred megabytes.
            await asyncio.to_thread(self._give_back)


def give_back() -> None:
    """Return every free page of the C library's heap, where that library can."""
    if sys.platform != "linux":
        return
    # Most daemons never see a crowd.
    import ctypes  # noqa: PLC0415

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
