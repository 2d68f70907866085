"""What a hundred thousand open questions and a million past ones cost, on both stores: the same rows, the same work."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import uvloop

from benchmarks.bench import Bench, collecting_as_the_daemon, median
from benchmarks.daemon import Daemon
from benchmarks.history import fill
from benchmarks.postgres import a_server
from benchmarks.report import Figure, Target
from benchmarks.store_wake import wake
from tests.postgres_server import PostgresServer
from upcall.broker.broker import Broker
from upcall.ports.store import Query, Store
from upcall.stores.postgres.move import move
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore

Open = Callable[[], Awaitable[Store]]
PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database: how it is opened, what a daemon is told, and how many bytes it has on disk."""

    opened: Open
    address: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same store with a page of open questions in it, and with everything."""

    empty: Place
    full: Place


def run(bench: Bench) -> Iterator[Figure]:
    """Both stores one after the other, each in turns beside one that is almost empty."""
    past, still_open = bench.size(1_000_000, 2_000), bench.size(100_000, 500)
    files = [bench.folder("empty") / "upcall.db", bench.folder("full") / "upcall.db"]
    # A page full, so that it is drawn from just as much.
    fill(files[0], still_open=PAGE)
    fill(files[1], past=past, still_open=still_open)
    with a_server() as server:
        pairs = {
            "SQLite": Pair(empty=_file(files[0]), full=_file(files[1])),
            "PostgreSQL": Pair(
                empty=_moved(server, files[0], "empty"), full=_moved(server, files[1], "full")
            ),
        }
        for name, pair in pairs.items():
            crowd = f"{name} with {still_open:,} open and {past:,} past"
            yield from _work(bench, crowd, pair)
            yield _start(bench, crowd, pair)
            yield Figure(
                name=f"{name}: room on disk for each question",
                measured=(pair.full.size - pair.empty.size) / (past + still_open - PAGE) / 1024,
                limit=None,
                unit="KiB",
                repetitions=past + still_open,
            )


def _file(path: Path) -> Place:
    async def opened() -> Store:
        return await SqliteStore.open(path)

    return Place(opened=opened, address=str(path), size=path.stat().st_size)


def _moved(server: PostgresServer, path: Path, name: str) -> Place:
    address = server.database(name)
    asyncio.run(move(path, address))
    with psycopg.connect(address, autocommit=True) as db:
        # As the server does by itself after a while.
        db.execute("VACUUM ANALYZE")
        found = db.execute("SELECT pg_database_size(current_database())").fetchone()
    assert found is not None

    async def opened() -> Store:
        return await PostgresStore.open(address)

    return Place(opened=opened, address=address, size=int(found[0]))


def _work(bench: Bench, crowd: str, pair: Pair) -> Iterator[Figure]:
    count = bench.size(100, 10)
    with collecting_as_the_daemon():
        empty, full = uvloop.run(_measure(pair, count))
    for what, before, after in zip(
        ("first page of what is open", "store.update → waiter woken"), empty, full, strict=True
    ):
        yield Figure(
            name=f"{crowd}: {what}, p50",
            measured=median(after) * 1e3,
            limit=median(before) * 1e3,
            unit="ms",
            limit_name=f"the same with {PAGE} open and none past",
            repetitions=count,
        )


async def _measure(pair: Pair, count: int) -> tuple[tuple[list[float], list[float]], ...]:
    stores = [await pair.empty.opened(), await pair.full.opened()]
    brokers = [Broker(store) for store in stores]
    for broker in brokers:
        await broker.start()
    took: tuple[tuple[list[float], list[float]], ...] = (([], []), ([], []))
    for number in range(count):
        for broker, (pages, wakes) in zip(brokers, took, strict=True):
            wakes.append(await wake(broker, number))
            began = time.perf_counter()
            await broker.store.find(Query(state="open", limit=PAGE))
            pages.append(time.perf_counter() - began)
    for broker, store in zip(brokers, stores, strict=True):
        await broker.close()
        await store.close()
    return took


def _start(bench: Bench, crowd: str, pair: Pair) -> Figure:
    rounds = bench.size(5, 1)
    places = (pair.empty, pair.full)
    daemons = [Daemon(bench.folder("crowd"), database=place.address) for place in places]
    took: list[list[float]] = [[], []]
    for turn in range(rounds + 1):
        for daemon, seconds in zip(daemons, took, strict=True):
            started = daemon.start()
            daemon.stop()
            if turn:
                seconds.append(started)
    return Figure(
        name=f"{crowd}: daemon start",
        measured=median(took[1]),
        limit=median(took[0]),
        unit="s",
        limit_name=f"start with {PAGE} open and none past",
        repetitions=rounds,
        target=Target(factor=2, plus=1),
    )
