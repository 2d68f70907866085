"""What happens to the server itself: it is replaced by another, its disk is full, it takes too long, it is restarted."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.postgres_server import PostgresServer
from tests.stores.wire_tap import WireTap
from upcall.domain.errors import StorageError, StorageFull
from upcall.domain.records import Happening
from upcall.ports.store import Query
from upcall.stores.postgres import statements
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, NOW, Clock, an_inquiry, answering

TICK = Happening(type="tick", at=NOW, data={})


@pytest.fixture
def standby(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that follows ours."""
    made = PostgresServer(postgres.installed, follows=postgres)
    made.start()
    yield made
    made.remove()


async def caught_up(primary: str, standby: str) -> None:
    """Wait until a server has all that the other has."""
    with psycopg.connect(primary, autocommit=True) as ahead:
        written = ahead.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    async with await psycopg.AsyncConnection.connect(standby, autocommit=True) as behind:
        while True:
            there = await behind.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)
            if await there.fetchone() == (True,):
                return


async def test_when_another_server_takes_over_work_goes_on_there(
    postgres: PostgresServer, standby: PostgresServer, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    both = f"{address},{standby.folder}&target_session_attrs=read-write"
    name = conninfo_to_dict(address)["dbname"]
    store = await PostgresStore.open(both)
    added = (await store.add(an_inquiry())).inquiry
    waiting = asyncio.create_task(store.events(1, wait=HOUR))
    await caught_up(address, standby.address())
    await asyncio.to_thread(postgres.stop, "immediate")
    try:
        answer = asyncio.create_task(store.update(added.id, answering()))
        await asyncio.to_thread(standby.promote)

        assert (await answer).applied
        assert [event.type for event in await waiting] == ["answered"]
        assert (await store.get(added.id)).state_name == "answered"
        assert "trying again" in caplog.text
        with psycopg.connect(standby.address(str(name))) as there:
            assert there.execute("SELECT last_seq FROM upcall.counter").fetchone() == (2,)
        await store.close()
    finally:
        await asyncio.to_thread(postgres.start)


@pytest.fixture
def small_disk(postgres: PostgresServer) -> Iterator[Path]:
    """A disk of twenty megabytes, which the server may use."""
    folder = postgres.folder / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        folder.rmdir()
        # Many containers forbid it, and no package could be installed to change that.
        pytest.skip("this system does not let a test mount anything")
    try:
        yield folder
    finally:
        postgres.drop_databases()
        with psycopg.connect(postgres.address(), autocommit=True) as admin:
            admin.execute("DROP TABLESPACE IF EXISTS small")
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


async def test_a_full_disk_is_said_to_be_full_and_used_again_once_there_is_room(
    postgres: PostgresServer, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ballast, space = small_disk / "ballast", small_disk / "space"
    ballast.write_bytes(bytes(6_000_000))
    space.mkdir()
    postgres.lend(space)
    with psycopg.connect(postgres.address(), autocommit=True) as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{space}'".encode())
        admin.execute("CREATE DATABASE upcall_small TEMPLATE template0 TABLESPACE small")
    store = await PostgresStore.open(postgres.address("upcall_small"))
    kept: list[str] = []

    async def fill() -> None:
        while True:
            # What cannot be made smaller.
            kept.append((await store.add(an_inquiry(), [os.urandom(200_000)])).inquiry.id)

    with pytest.raises(StorageFull, match="no room left") as refused:
        await fill()
    assert "free some space" in str(refused.value.hint)
    assert "there is no room left for the database" in caplog.text
    assert kept

    ballast.unlink()
    assert (await store.add(an_inquiry(), [os.urandom(200_000)])).created
    assert (await store.update(kept[0], answering())).applied
    # What was refused has left nothing behind.
    assert await store.count_open() == len(kept)
    assert [event.seq for event in await store.events(0)] == list(range(1, len(kept) + 3))
    await store.close()


async def test_a_server_that_takes_too_long_is_an_error_for_all_and_no_obstacle_later(
    address: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    name = conninfo_to_dict(address)["dbname"]
    await (await PostgresStore.open(address)).close()
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET statement_timeout = '100ms'".encode())
        admin.execute(
            """
            CREATE FUNCTION dawdle() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
            CREATE TRIGGER dawdle AFTER INSERT ON upcall.event EXECUTE FUNCTION dawdle();
            """
        )
        store = await PostgresStore.open(address, clock=clock)
        results = await asyncio.gather(*[store.add(an_inquiry()) for _ in range(30)], return_exceptions=True)
        assert {type(result) for result in results} == {StorageError}
        assert "took too long" in str(results[0])
        assert "statement_timeout" in str(getattr(results[0], "hint", ""))
        # Said once, however many it concerns.
        assert caplog.text.count("took too long and stopped") == 1
        admin.execute("DROP TRIGGER dawdle ON upcall.event")
    caplog.set_level("INFO")
    assert (await store.add(an_inquiry())).created
    assert "takes what is written again" in caplog.text
    assert [event.seq for event in await store.events(0)] == [1]
    await store.close()


async def test_a_connection_lost_in_the_middle_of_a_transaction_is_no_half_of_one(
    shared: PostgresStore, tap: WireTap, address: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store = await PostgresStore.open(tap.address(address), clock=clock)
    first = (await store.add(an_inquiry())).inquiry
    # After the lock was taken, and before anything is written.
    tap.cut_after = b"BEGIN ISOLATION"
    results = await asyncio.gather(store.update(first.id, answering()), store.add(an_inquiry()))
    assert tap.cuts == 1
    assert [type(result).__name__ for result in results] == ["Updated", "Added"]
    assert "was lost" in caplog.text
    seen: list[str] = []
    while len(seen) < 3:
        seen += [event.type for event in await shared.events(len(seen), wait=HOUR)]
    assert seen == ["asked", "answered", "asked"]
    await store.close()


async def test_a_server_that_is_restarted_under_load_loses_nothing_and_says_so(
    postgres: PostgresServer, shared: PostgresStore, other: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[str] = []
    enough = asyncio.Event()

    async def work(store: PostgresStore) -> None:
        while len(kept) < 300:
            added = await store.add(an_inquiry())
            kept.append(added.inquiry.id)
            if len(kept) >= 50:
                enough.set()

    working = [asyncio.create_task(work(store)) for _ in range(10) for store in (shared, other)]
    await enough.wait()
    await asyncio.to_thread(postgres.stop, "fast")
    await asyncio.to_thread(postgres.start)
    await asyncio.gather(*working)

    found = [each.id for each in (await shared.find(Query(state="open", limit=10_000))).items]
    assert sorted(found) == sorted(kept)
    assert "trying again" in caplog.text
    assert (await shared.record(TICK)).seq == len(kept) + 1


SLOW = """
    CREATE FUNCTION upcall.slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.type = 'slow' THEN PERFORM pg_sleep(3600); END IF; RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE INSERT ON upcall.event FOR EACH ROW EXECUTE FUNCTION upcall.slow();
"""


async def test_a_write_that_takes_the_server_too_long_each_time_is_refused_and_holds_no_other_up(
    address: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "PAUSED", 0.3)
    store = await PostgresStore.open(address, clock=clock, patience=0.5)
    with psycopg.connect(address, autocommit=True) as administrator:
        administrator.execute(SLOW)
    slow = Happening(type="slow", at=clock(), data={})
    _, refused, _ = await asyncio.gather(
        store.record(TICK), store.record(slow), store.record(TICK), return_exceptions=True
    )
    assert isinstance(refused, StorageError)
    assert "transaction timeout" in refused.message
    assert [event.type for event in await store.events(0)] == [TICK.type, TICK.type]
    await store.close()


async def test_a_locked_counter_makes_a_lost_commit_an_error_and_no_wait_for_ever(
    tap: WireTap, address: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "LOCKED", 0.1)
    store = await PostgresStore.open(tap.address(address), clock=clock, patience=0.2)
    tap.cut_after = b"COMMIT\0"
    writing = asyncio.create_task(store.record(TICK))
    await tap.has_cut.wait()
    # Not a thread: until this connection has the lock, nothing else runs here.
    with psycopg.connect(address) as other:
        other.execute("SELECT 1 FROM upcall.counter FOR UPDATE")
        with pytest.raises(StorageError, match="whether it took place is not known"):
            await writing
    await store.close()
