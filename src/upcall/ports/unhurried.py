"""Work on text that an agent wrote: long text goes to a thread, so that the event loop serves the others."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

LIGHT = 8 * 1024
"""Characters up to which the work is done at once: a change of threads would take longer."""

T = TypeVar("T")


async def unhurried(weight: int, work: Callable[[], T]) -> T:
    """What the work returns; `weight` is how many characters it goes over."""
    return work() if weight <= LIGHT else await asyncio.to_thread(work)
