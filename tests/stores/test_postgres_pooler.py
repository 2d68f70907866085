"""Behind a real PgBouncer that keeps no session for its clients, with a way of its own to listen."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.conftest import require
from tests.pgbouncer import PgBouncer, program
from tests.postgres_server import PostgresServer
from upcall.domain.records import Effects
from upcall.ports.store import Query
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, Clock, an_inquiry, answering
from upcall.testing.store_harness import furnish, kept
from upcall.testing.store_ledger import a_job, a_record, claimed, put


@pytest.fixture
def pooler(postgres: PostgresServer) -> Iterator[PgBouncer]:
    require(program(), "PgBouncer")
    made = PgBouncer(postgres)
    yield made
    made.close()


@pytest.fixture
async def pooled(pooler: PgBouncer, address: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(pooler.address(address), direct=address, clock=clock)
    yield opened
    await opened.close()


async def test_everything_is_kept_and_read_as_without_it(
    pooled: PostgresStore, shared: PostgresStore
) -> None:
    with_blob = await furnish(pooled)
    last = await pooled.last_seq()
    seen = 0
    while seen < last:
        seen += len(await shared.events(seen, wait=HOUR))
    assert await kept(pooled, with_blob) == await kept(shared, with_blob)


async def test_more_clients_than_servers_share_them_and_nothing_is_lost(
    pooler: PgBouncer, address: str, clock: Clock
) -> None:
    stores = [
        await PostgresStore.open(pooler.address(address), direct=address, clock=clock) for _ in range(4)
    ]

    async def work(store: PostgresStore, number: int) -> None:
        added = (await store.add(an_inquiry(session=str(number)))).inquiry
        await stores[number % 4].update(added.id, answering())
        assert (await store.get(added.ref)).state_name == "answered"

    await asyncio.gather(*[work(store, number) for number in range(25) for store in stores])
    assert len((await stores[0].find(Query(state="answered", limit=1000))).items) == 100
    for store in stores:
        seen: list[int] = []
        while len(seen) < 200:
            seen += [event.seq for event in await store.events(len(seen), wait=HOUR)]
        assert seen == list(range(1, 201))
        await store.close()


async def test_an_answer_elsewhere_wakes_who_waits_behind_it(
    pooled: PostgresStore, shared: PostgresStore
) -> None:
    added = (await pooled.add(an_inquiry())).inquiry
    waiting = asyncio.create_task(pooled.events(1, wait=HOUR))
    await asyncio.sleep(0)
    await shared.update(added.id, answering())
    assert [event.type for event in await waiting] == ["answered"]


async def test_jobs_are_claimed_once_through_it(pooled: PostgresStore, shared: PostgresStore) -> None:
    await put(shared, *[a_job(f"resume:{number}") for number in range(10)])
    claims = await asyncio.gather(*[claimed(store, limit=2) for store in (pooled, shared) for _ in range(5)])
    jobs = [job for claim in claims for job in claim]
    assert sorted(job.id for job in jobs) == [f"resume:{number}" for number in range(10)]
    assert all([await pooled.settle(job, Effects(records=(a_record(job.id),))) for job in jobs])
    assert len((await shared.records("run")).items) == 10
