"""What holds up a loop is noticed, and what a host takes away once is not taken for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.adversary import heartbeat
from tests.adversary.heartbeat import Heartbeat, held_up


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_work_in_the_loop_is_noticed_and_work_in_a_thread_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for reference in ("reference", "quick_reference"):
        monkeypatch.setattr(heartbeat, reference, lambda: 0.1)

    async def in_the_loop() -> None:
        compute(0.2)

    async def in_a_thread() -> None:
        await asyncio.to_thread(compute, 0.2)

    longest = await held_up(in_the_loop)
    assert longest is not None
    assert longest >= 0.2
    assert await held_up(in_a_thread) is None


async def test_of_several_tries_the_least_counts() -> None:
    tries = iter([60.0, 50.0, 0.0])

    @asynccontextmanager
    async def watch() -> AsyncIterator[Heartbeat]:
        watched = Heartbeat()
        watched.longest = next(tries)
        yield watched

    async def work() -> None:
        pass

    assert await held_up(work, watch=watch) is None
    tries = iter([60.0, 50.0, 70.0])
    assert await held_up(work, watch=watch) == 50
