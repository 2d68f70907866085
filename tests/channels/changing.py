"""What every fake of a vendor has: tests can wait until something changes there, and its replies can be held back."""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 20.0
"""Far longer than anything takes."""


class Changing:
    """A fake sets `_changed` after each change."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._held: asyncio.Event | None = None

    def hold_replies(self) -> None:
        """From now on take messages, and do not reply to the requests that send them."""
        self._held = asyncio.Event()

    def release_replies(self) -> None:
        """Reply to all of them again."""
        if self._held is not None:
            self._held.set()
        self._held = None

    async def _may_reply(self) -> None:
        if self._held is not None:
            await self._held.wait()

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not seen():
                self._changed.clear()
                await self._changed.wait()
