"""Background tasks that end with their owner, and that log their failures."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger("upcall.runs")


class Tasks:
    """The tasks of one owner. No caller waits for a result."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Start a task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Cancel the tasks that still work."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s failed", task.get_name(), exc_info=task.exception())
