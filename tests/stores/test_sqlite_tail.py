"""The part of the log in memory stays small, and readers do not notice where it ends."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from upcall.domain.records import Happening
from upcall.ports.store import Event
from upcall.stores.sqlite.store import SqliteStore
from upcall.stores.tail import MAX_EVENTS, Logged, Tail
from upcall.testing.examples import HOUR, NOW, an_inquiry, answering


def entry(seq: int, weight: int = 1) -> Logged:
    subject = replace(an_inquiry(), id=f"inquiry-{seq}")
    event = Event(seq=seq, type="asked", inquiry=subject.id, at=NOW, data={}, subject=subject)
    return Logged(event, "{}", weight)


async def test_it_keeps_only_so_many_events() -> None:
    tail = Tail(0, max_events=10, max_weight=1000)
    for seq in range(1, 101):
        tail.publish([entry(seq)])
    assert len(tail) == 10
    assert tail.last == 100
    assert tail.since(89, 100) is None
    assert [event.seq for event in tail.since(90, 3) or ()] == [91, 92, 93]
    assert tail.subject("inquiry-90") is None
    assert tail.subject("inquiry-91") is not None


async def test_it_keeps_only_so_much_however_few_events_that_are() -> None:
    tail = Tail(0, max_events=10, max_weight=1000)
    tail.publish([entry(1, 400), entry(2, 400), entry(3, 400)])
    assert tail.weight == 800
    assert tail.since(0, 100) is None
    tail.publish([entry(4, 2000)])
    assert (len(tail), tail.weight, tail.last) == (0, 0, 4)
    assert tail.since(3, 100) is None
    assert tail.since(4, 100) == []


async def test_readers_for_which_events_gather_are_woken_once_for_all_of_them() -> None:
    tail = Tail(0)
    reads = [asyncio.create_task(tail.grown(0, HOUR, 0.01)) for _ in range(3)]
    await asyncio.sleep(0)
    for seq in (1, 2, 3):
        tail.publish([entry(seq)])
        await asyncio.sleep(0)
        assert not any(read.done() for read in reads)
    assert await asyncio.gather(*reads) == [True, True, True]
    assert len(tail.since(0, 100) or ()) == 3
    # The next event is a new beginning.
    later = asyncio.create_task(tail.grown(3, HOUR, 0.01))
    await asyncio.sleep(0)
    tail.publish([entry(4)])
    assert await later


async def test_what_is_older_than_the_memory_is_read_from_the_database(store: SqliteStore) -> None:
    total = MAX_EVENTS + 1500
    happenings = [Happening(type="tick", at=NOW + at, data={"at": at}) for at in range(total)]
    await asyncio.gather(*[store.record(happening) for happening in happenings])
    seen: list[Event] = []
    while page := await store.events(len(seen), limit=700):
        seen += page
    assert [event.seq for event in seen] == list(range(1, total + 1))
    assert [event.data["at"] for event in seen] == list(range(total))


async def test_an_inquiry_is_read_as_it_is_now_whether_or_not_it_is_still_in_memory(
    store: SqliteStore,
) -> None:
    added = (await store.add(an_inquiry())).inquiry
    done = await store.update(added.id, answering())
    assert await store.get(added.id) == done.inquiry
    ticks = [Happening(type="tick", at=NOW, data={}) for _ in range(MAX_EVENTS)]
    await asyncio.gather(*[store.record(tick) for tick in ticks])
    assert await store.get(added.id) == done.inquiry


async def test_events_from_memory_carry_their_inquiry(store: SqliteStore) -> None:
    added = (await store.add(an_inquiry())).inquiry
    done = await store.update(added.id, answering())
    assert [event.subject for event in await store.events(0)] == [added, done.inquiry]


async def test_a_log_without_its_beginning_is_read_from_what_is_left(path: Path) -> None:
    store = await SqliteStore.open(path)
    for _ in range(3):
        await store.record(Happening(type="tick", at=NOW, data={}))
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM event")

    store = await SqliteStore.open(path)
    assert list(await store.events(0)) == []
    waiting = asyncio.create_task(store.events(0, wait=HOUR))
    await asyncio.sleep(0)
    event = await store.record(Happening(type="tick", at=NOW, data={}))
    assert (event.seq, list(await waiting)) == (4, [event])
    await store.close()
