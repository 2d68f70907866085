"""Small pieces of work that block, such as those on files: a few of them, then the event loop serves other work."""

import asyncio
import time
from types import TracebackType
from typing import Self

TURN = 0.005
"""Seconds of work before others have a turn, which is at least as long."""

AT_ONCE = 20
"""Pieces of work before others have a turn, however short they were."""


class Pace:
    """Work done inside it is done one piece after the other, and takes at most half of the time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._used = 0.0
        self._count = 0
        self._began = 0.0

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        try:
            if self._used >= TURN or self._count >= AT_ONCE:
                await asyncio.sleep(self._used)
                self._used, self._count = 0.0, 0
        except BaseException:
            self._lock.release()
            raise
        self._began = time.perf_counter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._used += time.perf_counter() - self._began
        self._count += 1
        self._lock.release()
