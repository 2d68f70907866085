"""A listing is read to its last page, and the log is followed from a position on."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from upcall.domain.records import Effects, Happening, Record
from upcall.ports.following import Follower, follow
from upcall.ports.paging import PAGE, each_inquiry, each_record
from upcall.ports.store import Event, Query
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import NOW, an_inquiry, answering

log = logging.getLogger("upcall.test")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "upcall.db")
    yield opened
    await opened.close()


def happened(name: str) -> Happening:
    return Happening(type=name, at=NOW, data={})


async def test_every_record_of_a_kind_is_read_and_none_twice(store: SqliteStore) -> None:
    """Of one state only, where a state is named."""
    count = 2 * PAGE + 1
    records = [
        Record(kind="card", key=str(number), state="even" if number % 2 == 0 else "odd")
        for number in range(count)
    ]
    await store.revise("card", "0", lambda _: Effects(records=tuple(records)))
    await store.revise("other", "0", lambda _: Effects(records=(Record(kind="other", key="0"),)))
    found = [record.key async for record in each_record(store, "card")]
    assert sorted(found, key=int) == [str(number) for number in range(count)]
    odd = [record.key async for record in each_record(store, "card", "odd")]
    assert sorted(odd, key=int) == [str(number) for number in range(1, count, 2)]


async def test_every_inquiry_of_a_query_is_read_in_its_order(store: SqliteStore) -> None:
    """Also where the query's own limit is smaller."""
    asked = [(await store.add(an_inquiry())).inquiry.id for _ in range(PAGE + 2)]
    await store.update(asked[1], answering())
    found = [inquiry.id async for inquiry in each_inquiry(store, Query(state="open", limit=1))]
    assert found == [asked[0], *asked[2:]]


async def test_an_event_that_could_not_be_heeded_is_handed_over_again(store: SqliteStore) -> None:
    """The events before it are not, and those after it keep their order."""
    heard: list[str] = []
    done = asyncio.Event()

    async def heed(event: Event) -> None:
        heard.append(event.type)
        if heard == ["first", "second"]:
            raise RuntimeError("not this time")
        if event.type == "third":
            done.set()

    await store.record(happened("before"))
    following = Follower("following the log", store, heed, log)
    await following.start()
    for name in ("first", "second", "third"):
        await store.record(happened(name))
    await done.wait()
    await following.close()
    assert heard == ["first", "second", "second", "third"]


async def test_a_follower_begins_after_the_event_that_it_is_told(store: SqliteStore) -> None:
    """What was written while nothing followed the log is not lost."""
    known = await store.record(happened("known"))
    await store.record(happened("missed"))
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def heed(event: Event) -> None:
        heard.put_nowait(event.type)

    following = Follower("following the log", store, heed, log)
    await following.start(known.seq)
    assert await heard.get() == "missed"
    await following.close()


async def test_the_log_is_followed_until_the_time_is_up(store: SqliteStore) -> None:
    """What is there already comes in any case."""
    for name in ("first", "second"):
        await store.record(happened(name))
    assert [event.type async for events in follow(store, 1) for event in events] == ["second"]
    waiting = asyncio.ensure_future(anext(follow(store, 2, seconds=3600)))
    await store.record(happened("third"))
    assert [event.type for event in await waiting] == ["third"]
    assert [events async for events in follow(store, 3)] == []
