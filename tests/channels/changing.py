"""What a test can wait for: something at the other end of a channel changes."""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 20.0
"""Far longer than anything takes; whoever waits so long waits for ever."""


class Changing:
    """Whoever changes sets `_changed`."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not seen():
                self._changed.clear()
                await self._changed.wait()
