"""Searching a long history, and what an agent that waits notices of it."""

import asyncio
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

from benchmarks.bench import Bench, median, percentile
from benchmarks.history import fill
from benchmarks.report import Figure, Target
from benchmarks.samples import an_inquiry, answered
from upcall.ports.store import Query, Store
from upcall.stores.sqlite.store import SqliteStore

OPEN = 10_000
_numbers = count()
QUERIES = (
    Query(text="which"),
    Query(text="w"),
    Query(text="red cach", state="open"),
    Query(text="cache", state="closed", agent="builder"),
    Query(text="absent"),
    Query(text="r", state="rejected"),
)


def run(bench: Bench) -> Iterator[Figure]:
    """One database with a long past; each kind of search, then answers beside searches."""
    past = bench.size(500_000, 5_000)
    path = bench.folder("search") / "upcall.db"
    fill(path, past=past, still_open=bench.size(OPEN, 100))
    yield from asyncio.run(_measured(bench, path, past))


async def _measured(bench: Bench, path: Path, past: int) -> list[Figure]:
    store = await SqliteStore.open(path)
    began = time.perf_counter()
    while await store.index_words(500):
        pass
    indexed = time.perf_counter() - began
    rounds = bench.size(100, 5)
    took, lists = [], []
    for query, _ in zip(cycle(QUERIES), range(rounds * len(QUERIES)), strict=False):
        took.append(await _timed(store, query))
        lists.append(await _timed(store, Query(state="open")))
    alone = [await _woken(store) for _ in range(rounds)]
    searching = asyncio.create_task(_search(store))
    beside = [await _woken(store) for _ in range(rounds)]
    beside_lists = [await _timed(store, Query(state="open")) for _ in range(rounds)]
    searching.cancel()
    await asyncio.gather(searching, return_exceptions=True)
    await store.close()
    return [
        Figure(
            name=f"first page of a search in {past:,} inquiries, p95",
            measured=percentile(took, 0.95) * 1e3,
            limit=median(lists) * 1e3,
            unit="ms",
            limit_name="the open page, p50",
            repetitions=len(took),
            target=Target(plus=50),
            details={"p50": median(took) * 1e3, "µs to index one": indexed / past * 1e6},
        ),
        Figure(
            name="answer → waiting reader, beside searches, p50",
            measured=median(beside) * 1e3,
            limit=median(alone) * 1e3,
            unit="ms",
            limit_name="the same without",
            repetitions=rounds,
            target=Target(factor=1.5),
        ),
        Figure(
            name="open page, beside searches, p50",
            measured=median(beside_lists) * 1e3,
            limit=median(lists) * 1e3,
            unit="ms",
            limit_name="the same without",
            repetitions=rounds,
            target=Target(factor=1.5),
        ),
    ]


async def _timed(store: Store, query: Query) -> float:
    began = time.perf_counter()
    await store.find(query)
    return time.perf_counter() - began


async def _woken(store: Store) -> float:
    name = (await store.add(an_inquiry(next(_numbers)))).inquiry.id
    reading = asyncio.create_task(store.events(await store.last_seq(), wait=30))
    await asyncio.sleep(0)
    began = time.perf_counter()
    await store.update(name, answered)
    await reading
    return time.perf_counter() - began


async def _search(store: Store) -> None:
    for query in cycle(QUERIES):
        await store.find(query)
