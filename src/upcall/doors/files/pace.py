"""A limit for blocking work on files: after a few pieces of it the event loop serves other tasks."""

import asyncio
import time
from types import TracebackType
from typing import Self

TURN = 0.005
"""Seconds of work before a pause, which is at least as long."""

AT_ONCE = 20
"""Pieces of work before a pause, however short they were."""


class Pace:
    """Runs pieces of work one after the other, in at most half of the time."""

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
