"""Durable cycles a second at the store: ask, somebody waits, an answer, the waiter wakes."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import uvloop

from benchmarks.bench import Bench, collecting_as_the_daemon, median
from benchmarks.null_store import NullStore
from benchmarks.report import Figure, Target
from benchmarks.samples import an_inquiry, answered
from upcall.broker import Broker
from upcall.ports import Store
from upcall.stores.sqlite import SqliteStore

CONCURRENT = (64, 512)
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
    for concurrent in CONCURRENT:
        rates: dict[str, list[float]] = {name: [] for name in STORES}
        for _ in range(rounds):
            for name, opened in STORES.items():
                with collecting_as_the_daemon():
                    folder = bench.folder("cycles")
                    rates[name].append(uvloop.run(_rate(opened, folder, concurrent, seconds)))
        yield from _figures(concurrent, {name: median(found) for name, found in rates.items()}, rounds)


def _figures(concurrent: int, rates: dict[str, float], rounds: int) -> Iterator[Figure]:
    targets = {
        "one commit per write": Target(factor=4, at_least=True),
        "null": Target(factor=0.15, at_least=True),
    }
    for name, target in targets.items():
        yield Figure(
            name=f"durable cycles at the store, {concurrent} concurrent, against {name}",
            measured=rates["grouped"],
            limit=rates[name],
            unit="/s",
            limit_name=f"the same harness, {name}",
            repetitions=rounds,
            target=target if concurrent == CONCURRENT[-1] else None,
        )


async def _rate(opened: Open, folder: Path, concurrent: int, seconds: float) -> float:
    store = await opened(folder)
    broker = Broker(store)
    await broker.start()
    numbers = itertools.count()
    done = 0

    async def worker() -> None:
        nonlocal done
        while True:
            await _cycle(broker, next(numbers))
            done += 1

    workers = [asyncio.create_task(worker()) for _ in range(concurrent)]
    loop = asyncio.get_running_loop()
    await asyncio.sleep(seconds / 4)
    began, before = loop.time(), done
    await asyncio.sleep(seconds)
    rate = (done - before) / (loop.time() - began)
    for task in workers:
        task.cancel()
    for task in workers:
        with suppress(asyncio.CancelledError):
            await task
    await broker.close()
    await store.close()
    return rate


async def _cycle(broker: Broker, number: int) -> None:
    inquiry = (await broker.store.add(an_inquiry(number))).inquiry
    # The task begins once we wait, so there is always somebody to wake.
    answering = asyncio.create_task(broker.store.update(inquiry.id, answered))
    settled = await broker.wait(inquiry)
    await answering
    assert not settled.is_open
