"""Refs are as short as they can be, and each means one inquiry at a time."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import DAY, HOUR, NOW, Clock, an_inquiry, answering


async def ask(store: SqliteStore, now: float) -> Inquiry:
    return (await store.add(an_inquiry(asked_at=now, expires_at=now + HOUR))).inquiry


@pytest.mark.promise("spec/12")
async def test_the_first_refs_have_two_characters_and_later_ones_more(store: SqliteStore) -> None:
    found = [await ask(store, NOW) for _ in range(3)]
    found += await asyncio.gather(*[ask(store, NOW) for _ in range(400)])
    lengths = [len(inquiry.ref) for inquiry in found]
    assert lengths[:3] == [2, 2, 2]
    assert max(lengths) == 3


@pytest.mark.promise("spec/177")
async def test_a_rested_ref_means_its_latest_inquiry(path: Path, clock: Clock) -> None:
    store = await SqliteStore.open(path, clock=clock, random=Random(7))
    old = await ask(store, clock.now)
    await store.update(old.id, answering(at=clock.now))
    await store.close()

    clock.now += 29 * DAY
    store = await SqliteStore.open(path, clock=clock, random=Random(7))
    assert (await ask(store, clock.now)).ref != old.ref
    await store.close()

    clock.now += 1 * DAY
    store = await SqliteStore.open(path, clock=clock, random=Random(7))
    new = await ask(store, clock.now)
    assert new.ref == old.ref
    assert await store.get(old.ref) == new
    assert (await store.get(old.id)).state_name == "answered"
    done = await store.update(old.ref, answering(at=clock.now))
    assert done.inquiry.id == new.id
    await store.close()


@pytest.mark.promise("spec/13")
async def test_short_refs_come_back_after_a_month(store: SqliteStore, clock: Clock) -> None:
    busy = await asyncio.gather(*[ask(store, clock.now) for _ in range(400)])
    await asyncio.gather(*[store.update(each.id, answering(at=clock.now)) for each in busy])
    assert len((await ask(store, clock.now)).ref) == 3
    clock.now += 31 * DAY
    assert len((await ask(store, clock.now)).ref) == 2
