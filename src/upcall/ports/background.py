"""Background loops: a turn that fails is logged, and the loop goes on until its owner closes it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from upcall.domain.errors import StorageError

PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before each further turn after turns that failed one after the other; the last one from then on."""

CANCELLED_AGAIN = 10.0
"""Seconds after which a turn that has not ended is cancelled once more: a library that it calls may lose a cancellation."""

T = TypeVar("T")


class Background:
    """One task that takes its turn again and again: a turn waits for what it needs, works, and returns.

    Any exception of a turn is logged, and the next turn follows after a pause. Only `close` ends the task.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], Awaitable[None]],
        log: logging.Logger,
        *,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._name = name
        self._turn = turn
        self._log = log
        self._pauses = pauses
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def start(self) -> None:
        """Begin with the first turn."""
        if self._task is None:
            self._closing.clear()
            self._task = asyncio.create_task(self._run(), name=self._name)

    async def close(self, grace: float = 0) -> None:
        """End the task: after the turn at hand if that takes no longer than `grace` seconds, else in the middle of it."""
        task, self._task = self._task, None
        if task is None:
            return
        self._closing.set()
        if grace:
            await asyncio.wait([task], timeout=grace)
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=CANCELLED_AGAIN)

    async def _run(self) -> None:
        failures = 0
        while not self._closing.is_set():
            try:
                await self._turn()
                failures = 0
                # A turn that had nothing to wait for, because what it reads is closed, must not keep the loop from closing it.
                await asyncio.sleep(0)
            except Exception as problem:  # noqa: BLE001 - any failure is logged, and the next turn follows
                pause = self._pauses[min(failures, len(self._pauses) - 1)]
                failures += 1
                if isinstance(problem, StorageError):
                    self._log.warning("%s: %s; again in %g s", self._name, problem.message, pause)
                else:
                    self._log.exception("%s failed; again in %g s", self._name, pause)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._closing.wait()


async def each_alone(
    steps: Mapping[str, Awaitable[T]], log: logging.Logger, what: str
) -> dict[str, T | Exception]:
    """Take steps that concern one row each, by the row's name, so that one which fails is no other's failure.

    A failed step is named in the log and returned as its exception. A store that cannot be used concerns all rows: that
    is raised once every step was tried.
    """
    results = await asyncio.gather(*steps.values(), return_exceptions=True)
    outcomes: dict[str, T | Exception] = {}
    trouble: StorageError | None = None
    for name, result in zip(steps, results, strict=True):
        if isinstance(result, BaseException) and not isinstance(result, Exception):
            raise result
        if isinstance(result, StorageError):
            trouble = result
        elif isinstance(result, Exception):
            log.error("%s: %s failed", name, what, exc_info=result)
        outcomes[name] = result
    if trouble is not None:
        raise trouble
    return outcomes
