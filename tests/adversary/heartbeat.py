"""How long an event loop is held up, in the processor time of its own thread: other programs and threads do not count.

It is compared with a fixed piece of work on the same machine, which slows down with it.
"""

import asyncio
import gc
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cache

ROUNDS = 4_000_000
"""Turns of an empty loop that take about 50 ms on a machine of 2020."""

TRIES = 3
"""Of several tries the least counts: a host may take the processor away in the middle of one, and that time counts as ours."""


class Heartbeat:
    """Watches the loop that it runs in; `longest` is the most processor time between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        """Measure until it is cancelled."""
        while True:
            before = time.thread_time()
            try:
                # Not at once again: work in other threads is to have its turns.
                await asyncio.sleep(0.001)
            finally:
                # Also at the end, when the last thing that was done has held it up.
                self.longest = max(self.longest, time.thread_time() - before)


def reference() -> float:
    """The processor time of a fixed piece of work, on this machine as it is now."""
    before = time.thread_time()
    for _ in range(ROUNDS):
        pass
    return time.thread_time() - before


@cache
def quick_reference() -> float:
    """The same on this machine at its best."""
    return min(reference() for _ in range(TRIES))


def is_short(took: float, part: float = 1) -> bool:
    """Whether processor time is less than the reference, or than a part of it. It is measured anew where that decides."""
    return took < quick_reference() * part or took < reference() * part


@contextmanager
def settled_heap() -> Iterator[None]:
    """Take what is loaded out of the collector's sight, as the daemon does once it has started."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@asynccontextmanager
async def heartbeat() -> AsyncIterator[Heartbeat]:
    """Watch the loop for as long as the block runs."""
    watched = Heartbeat()
    task = asyncio.create_task(watched.beat())
    await asyncio.sleep(0)
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def held_up(
    work: Callable[[], Awaitable[object]],
    *,
    part: float = 1,
    watch: Callable[[], AbstractAsyncContextManager[Heartbeat]] = heartbeat,
) -> float | None:
    """How long some work holds up the loop, where that is not short; None where it is. `work` can be done several times."""
    least = math.inf
    for _ in range(TRIES):
        async with watch() as watched:
            await work()
        least = min(least, watched.longest)
        if is_short(least, part):
            return None
    return least
