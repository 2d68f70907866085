"""Words are indexed in the background: what was written before, and what is written from then on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from upcall.broker import indexing
from upcall.broker.indexing import Indexing
from upcall.ports.store import Query, Store
from upcall.stores.sqlite.store import SqliteStore
from upcall.stores.words import AT_ONCE, MOST_STEPS
from upcall.testing.examples import an_inquiry, answering

ENOUGH = 60


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await SqliteStore.open(tmp_path / "words.db")
    yield opened
    await opened.close()


@pytest.mark.promise("proof/12")
async def test_what_was_written_before_is_indexed_in_the_background(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [an_inquiry(context="ultramarine") for _ in range(AT_ONCE * MOST_STEPS + 60)]
    await asyncio.gather(*[store.add(each) for each in asked])
    steps: list[int] = []
    done, index = asyncio.Event(), store.index_words

    async def counted(limit: int) -> int:
        steps.append(limit)
        number = await index(limit)
        if number < limit:
            done.set()
        return number

    monkeypatch.setattr(store, "index_words", counted)
    background = Indexing(store)
    await background.start()
    async with asyncio.timeout(ENOUGH):
        await done.wait()
    await background.close()
    assert set(steps) == {indexing.AT_ONCE}
    assert await index(1000) == 0


@pytest.mark.promise("proof/12")
async def test_what_is_asked_and_answered_later_is_indexed_once_the_log_is_calm(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "CALM", 0.01)
    found = asyncio.Event()
    index = store.index_words

    async def watched(limit: int) -> int:
        number = await index(limit)
        if number:
            found.set()
        return number

    monkeypatch.setattr(store, "index_words", watched)
    background = Indexing(store)
    await background.start()
    name = (await store.add(an_inquiry(context="ultramarine"))).inquiry.id
    await store.update(name, answering("Red"))
    async with asyncio.timeout(ENOUGH):
        await found.wait()
    await background.close()


async def test_a_search_beside_more_than_it_can_index_says_so(store: Store) -> None:
    asked = [an_inquiry(context="ultramarine") for _ in range(AT_ONCE * MOST_STEPS + 60)]
    await asyncio.gather(*[store.add(each) for each in asked])
    assert not (await store.find(Query(text="ultramarine", limit=1))).complete
    assert (await store.find(Query(text="ultramarine", limit=1))).complete
