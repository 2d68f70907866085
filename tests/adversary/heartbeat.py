"""How long an event loop is held up, in the processor time of its own thread: other programs and threads do not count."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

ROUNDS = 4_000_000
"""Turns of an empty loop that take about 50 ms on a machine of 2020."""


class Heartbeat:
    """Watches the loop that it runs in; `longest` is the most processor time between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        """Measure until it is cancelled."""
        while True:
            before = time.thread_time()
            # Not at once again: work in other threads is to have its turns.
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.thread_time() - before)


def reference() -> float:
    """The processor time of a fixed piece of work, on this machine as it is now."""
    before = time.thread_time()
    for _ in range(ROUNDS):
        pass
    return time.thread_time() - before


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
