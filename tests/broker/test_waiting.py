"""A waiting call is woken, even if the storage fails in between."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from upcall.broker.waiting import Waiters
from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.store import Event
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import Clock, an_inquiry, answering


class Unsteady(SqliteStore):
    """A store with events that do not bring their inquiry, and with reads that fail as they are told to."""

    failures: list[Exception]
    looked: asyncio.Event

    @override
    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        found = await super().events(after, wait=wait, limit=limit, gather=gather)
        return [replace(event, subject=None) for event in found]

    @override
    async def get(self, name: str) -> Inquiry:
        if self.failures:
            raise self.failures.pop(0)
        found = await super().get(name)
        self.looked.set()
        return found


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Unsteady]:
    opened = await Unsteady.open(tmp_path / "upcall.db", clock=Clock())
    opened.failures, opened.looked = [], asyncio.Event()
    yield opened
    await opened.close()


@pytest.fixture
async def waiters(store: Unsteady) -> AsyncIterator[Waiters]:
    made = Waiters(store)
    await made.start()
    yield made
    await made.close()


async def begun(waiters: Waiters, store: Unsteady, inquiry: Inquiry) -> "asyncio.Task[Inquiry]":
    """A call that waits, and has looked already."""
    store.looked.clear()
    waiting = asyncio.create_task(waiters.wait(inquiry, None))
    await store.looked.wait()
    return waiting


async def test_an_answer_that_could_not_be_read_at_first_wakes_whoever_waits(
    store: Unsteady, waiters: Waiters
) -> None:
    asked = (await store.add(an_inquiry())).inquiry
    waiting = await begun(waiters, store, asked)
    store.failures = [StorageError("the connection to the database was lost")]
    answered = (await store.update(asked.id, answering("Redis"))).inquiry
    assert await waiting == answered
    assert store.failures == []


async def test_one_that_cannot_be_read_at_all_leaves_nobody_else_asleep(
    store: Unsteady, waiters: Waiters
) -> None:
    gone = (await store.add(an_inquiry())).inquiry
    other = (await store.add(an_inquiry())).inquiry
    waiting = await begun(waiters, store, gone)
    store.failures = [UnknownInquiry(gone.id), UnknownInquiry(gone.id)]
    await store.update(gone.id, answering("Redis"))
    with pytest.raises(UnknownInquiry):
        await waiting
    waiting = await begun(waiters, store, other)
    answered = (await store.update(other.id, answering("Redis"))).inquiry
    assert await waiting == answered


async def test_whoever_cannot_look_hears_that_it_is_open_and_not_that_asking_failed(
    store: Unsteady, waiters: Waiters
) -> None:
    asked = (await store.add(an_inquiry())).inquiry
    store.failures = [StorageError("the connection to the database was lost")]
    assert await waiters.wait(asked, None) == asked
    assert await waiters.wait(asked, 0) == asked


async def test_a_waiting_call_returns_before_the_writer_of_its_answer_does(
    store: Unsteady, waiters: Waiters
) -> None:
    """The reply to a person is made after the agent has its answer."""
    asked = (await store.add(an_inquiry())).inquiry
    returned: list[str] = []

    async def wait() -> None:
        await waiters.wait(asked, None)
        returned.append("agent")

    async def answer() -> None:
        await store.looked.wait()
        await store.update(asked.id, answering("Redis"))
        returned.append("person")

    await asyncio.gather(wait(), answer())
    assert returned == ["agent", "person"]
