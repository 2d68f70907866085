"""A commit that is cut off is neither repeated nor reported falsely."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import psycopg
import pytest

from tests.stores.wire_tap import WireTap
from upcall.domain.records import Effects, Happening, Record
from upcall.ports.store import Revise
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import NOW, Clock, a_token
from upcall.testing.store_ledger import LEASE, a_job, a_record, claimed, put, writing

T = TypeVar("T")
Cut = Callable[[Awaitable[T]], Awaitable[T]]

# As it is sent: with the end of a statement, for BEGIN speaks of what is COMMITTED.
COMMIT = b"COMMIT\0"


@pytest.fixture
async def store(tap: WireTap, address: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(tap.address(address), clock=clock)
    yield opened
    await opened.close()


@pytest.fixture(params=["before", "after"])
def cut(request: pytest.FixtureRequest, tap: WireTap) -> Cut[object]:
    """Has something done while its commit is cut off, before or after the server has got it."""

    async def do(work: Awaitable[object]) -> object:
        if request.param == "before":
            tap.cut_before = COMMIT
        else:
            tap.cut_after = COMMIT
        cuts = tap.cuts
        result = await work
        assert tap.cuts == cuts + 1
        return result

    return do


def counting() -> Revise:
    def decide(record: Record | None) -> Effects:
        count = 0 if record is None else int(str(record.body["count"]))
        return Effects(records=(a_record(body={"count": count + 1}),))

    return decide


async def test_a_record_is_revised_once(store: PostgresStore, cut: Cut[object]) -> None:
    for count in (1, 2, 3):
        revised = await cut(store.revise("run", "1", counting()))
        assert revised == await store.look_up("run", "1") == a_record(body={"count": count})


async def test_a_job_is_settled_once_and_its_holder_hears_so(store: PostgresStore, cut: Cut[object]) -> None:
    await put(store, a_job())
    (job,) = await claimed(store)
    assert await cut(store.settle(job, Effects(records=(a_record(),)))) is True
    assert await store.look_up("run", "1") == a_record()
    assert not await store.settle(job)


async def test_who_claims_a_job_has_it(store: PostgresStore, cut: Cut[object]) -> None:
    await put(store, a_job())
    jobs = await cut(claimed(store))
    assert jobs == list(await store.jobs("resume", "run:1"))
    assert await claimed(store) == []


async def test_a_lease_is_renewed_and_jobs_are_hastened(store: PostgresStore, cut: Cut[object]) -> None:
    await put(store, a_job())
    (job,) = await claimed(store)
    assert await cut(store.renew(job, NOW + 2 * LEASE)) is True
    assert await cut(store.hasten("resume", "run:1", NOW + LEASE)) == 1
    assert await store.next_due(["resume"], "") == NOW + LEASE


async def test_a_token_is_forgotten_and_its_owner_hears_so(store: PostgresStore, cut: Cut[object]) -> None:
    await store.put_token(a_token(name="ana"))
    assert await cut(store.drop_token("ana")) is True


async def test_what_another_wrote_meanwhile_is_not_mistaken_for_ours(
    store: PostgresStore, shared: PostgresStore, tap: WireTap
) -> None:
    tick = Happening(type="tick", at=NOW, data={})
    tap.cut_before, tap.for_good = COMMIT, True
    ours = asyncio.create_task(store.record(tick))
    await tap.has_cut.wait()
    # Word for word the same, in the very place in the log that ours would have had.
    assert (await shared.record(tick)).seq == 1
    await tap.stop()
    await tap.start()
    assert (await ours).seq == 2


async def test_a_writer_that_closes_signs_off(store: PostgresStore, address: str) -> None:
    def signed() -> list[tuple[int]]:
        with psycopg.connect(address) as admin:
            return admin.execute("SELECT last FROM upcall.writer").fetchall()

    await store.revise("run", "1", writing(Effects(records=(a_record(),))))
    await store.revise("run", "1", writing(Effects()))
    assert signed() == [(1,)]
    await store.close()
    assert signed() == []


async def test_who_could_not_sign_off_is_forgotten_after_a_day(address: str) -> None:
    await (await PostgresStore.open(address)).close()
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(
            """
            INSERT INTO upcall.writer VALUES ('killed', 7, now() - interval '25 hours'), ('busy', 8, now())
            """
        )
        await (await PostgresStore.open(address)).close()
        assert admin.execute("SELECT name FROM upcall.writer").fetchall() == [("busy",)]
