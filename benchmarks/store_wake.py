"""From `store.update` called to the waiter woken, in one process: what durability itself costs a wake-up."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.bench import PAUSE, Bench, collecting_as_the_daemon, median, percentile
from benchmarks.probe import Probe, Sample
from benchmarks.report import Figure, Target
from benchmarks.samples import an_inquiry, answered
from upcall.broker.broker import Broker
from upcall.stores.sqlite.store import SqliteStore


def run(bench: Bench) -> Iterator[Figure]:
    """One wake-up at a time, each beside its limit."""
    folder, count = bench.folder("store-wake"), bench.size(200, 20)
    with Probe(folder) as probe, collecting_as_the_daemon():
        limits, wakes = uvloop.run(_measure(folder, probe, count))
    yield wake_figure("store.update called → waiter woken, p50", limits, wakes, Target(factor=2.5))


def wake_figure(name: str, limits: list[Sample], wakes: list[float], target: Target | None) -> Figure:
    """The median of wake-ups beside that of a sync and a round trip."""
    sync, trip = median([each.sync for each in limits]), median([each.trip for each in limits])
    return Figure(
        name=name,
        measured=median(wakes) * 1e3,
        limit=(sync + trip) * 1e3,
        unit="ms",
        limit_name="one idle fdatasync + one loopback round trip",
        repetitions=len(wakes),
        target=target,
        details={
            "p99": percentile(wakes, 0.99) * 1e3,
            "limit p99": percentile([each.sum for each in limits], 0.99) * 1e3,
            "fdatasync": sync * 1e3,
            "round trip": trip * 1e3,
        },
    )


async def _measure(folder: Path, probe: Probe, count: int) -> tuple[list[Sample], list[float]]:
    store = await SqliteStore.open(folder / "upcall.db")
    broker = Broker(store)
    await broker.start()
    limits: list[Sample] = []
    wakes: list[float] = []
    for number in range(count):
        limits.append(probe.sample())
        wakes.append(await wake(broker, number))
    await broker.close()
    await store.close()
    return limits, wakes


async def wake(broker: Broker, number: int) -> float:
    """Seconds from an answer to its waiter, on one broker."""
    inquiry = (await broker.store.add(an_inquiry(number))).inquiry

    async def wait() -> float:
        await broker.wait(inquiry)
        return time.perf_counter()

    waiter = asyncio.create_task(wait())
    await asyncio.sleep(PAUSE)
    began = time.perf_counter()
    updating = asyncio.create_task(broker.store.update(inquiry.id, answered))
    woken = await waiter
    assert (await updating).applied
    return woken - began
