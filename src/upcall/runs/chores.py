"""Work in the background that nobody waits for, and whose failures are heard of all the same."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("upcall.runs")


class Chores:
    """Tasks that live no longer than their owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Have something done."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Stop whatever is still going on."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s failed", task.get_name(), exc_info=task.exception())
