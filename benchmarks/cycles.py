"""Durable cycles a second at the store: ask, wait, answer, wake the waiter."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast

import uvloop

from benchmarks.bench import Bench, collecting_as_the_daemon, median
from benchmarks.null_store import NullStore
from benchmarks.report import Figure, Target
from benchmarks.samples import an_inquiry, answered
from upcall.broker.broker import Broker
from upcall.ports.store import Store
from upcall.stores.sqlite.store import SqliteStore

Open = Callable[[Path], Awaitable[Store]]


async def _grouped(folder: Path) -> Store:
    return await SqliteStore.open(folder / "upcall.db")


async def _one_by_one(folder: Path) -> Store:
    return await SqliteStore.open(folder / "upcall.db", max_group=1)


async def _null(folder: Path) -> Store:
    return cast("Store", NullStore())


STORES: dict[str, Open] = {"grouped": _grouped, "one commit per write": _one_by_one, "null": _null}


def run(bench: Bench) -> Iterator[Figure]:
    """The three stores in turns, several times."""
    rounds, seconds = bench.size(5, 1), bench.seconds(1.5, 0.3)
    few, many = bench.size(64, 16), bench.size(512, 64)
    for concurrent in (few, many):
        rates: dict[str, list[float]] = {name: [] for name in STORES}
        for _ in range(rounds):
            for name, opened in STORES.items():
                with collecting_as_the_daemon():
                    folder = bench.folder("cycles")
                    rates[name].append(uvloop.run(rate(opened, folder, concurrent, seconds)))
        medians = {name: median(found) for name, found in rates.items()}
        yield from _figures(concurrent, medians, rounds, targets=concurrent == many)


def _figures(concurrent: int, rates: dict[str, float], rounds: int, *, targets: bool) -> Iterator[Figure]:
    wanted = {
        "one commit per write": Target(factor=4, at_least=True),
        "null": Target(factor=0.15, at_least=True),
    }
    for name, target in wanted.items():
        yield Figure(
            name=f"durable cycles at the store, {concurrent} concurrent, against {name}",
            measured=rates["grouped"],
            limit=rates[name],
            unit="/s",
            limit_name=f"the same harness, {name}",
            repetitions=rounds,
            target=target if targets else None,
        )


async def rate(opened: Open, folder: Path, concurrent: int, seconds: float) -> float:
    """Cycles a second of so many who go on for so long."""
    store = await opened(folder)
    broker = Broker(store)
    await broker.start()
    numbers = itertools.count()
    count = _Count(concurrent, seconds)

    async def worker() -> None:
        while not count.rate:
            await _cycle(broker, next(numbers))
            count.cycle()

    await asyncio.gather(*[worker() for _ in range(concurrent)])
    await broker.close()
    await store.close()
    return count.rate


class _Count:
    """Counts whole rounds, one cycle of each client: a slow store takes all asks first, then all answers."""

    def __init__(self, concurrent: int, seconds: float) -> None:
        self._concurrent = concurrent
        self._seconds = seconds
        self._done = 0
        self._began = 0.0
        self.rate = 0.0
        """Cycles a second, once it is known."""

    def cycle(self) -> None:
        self._done += 1
        if self._done % self._concurrent or self.rate:
            return
        now = time.perf_counter()
        if not self._began:
            # The first round warms everything up.
            self._began, self._done = now, 0
        elif now - self._began >= self._seconds:
            self.rate = self._done / (now - self._began)


async def _cycle(broker: Broker, number: int) -> None:
    inquiry = (await broker.store.add(an_inquiry(number))).inquiry
    # The task begins once we wait, so there is always a waiter.
    answering = asyncio.create_task(broker.store.update(inquiry.id, answered))
    settled = await broker.wait(inquiry)
    await answering
    assert not settled.is_open
