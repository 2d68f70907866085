"""From SQLite into PostgreSQL: everything arrives as it was, or nothing does, and the source stays as it is."""

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from tests.stores.wire_tap import WireTap
from upcall.domain.errors import StorageError
from upcall.domain.records import Effects, Job, Record
from upcall.ports.store import Store
from upcall.stores.postgres.move import move
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import NOW, Clock, a_token, an_inquiry, answering
from upcall.testing.store_harness import Kept, furnish, kept
from upcall.testing.store_ledger import LEASE, a_job, a_record, claimed, writing


@dataclass
class Installation:
    """A SQLite installation, what is in it, and a claimed job of it."""

    path: Path
    with_blob: str
    held: Job
    contents: Kept
    ledger: tuple[object, ...]


async def ledger(store: Store) -> tuple[object, ...]:
    records: tuple[Record, ...] = (await store.records("run")).items
    return records, [await store.jobs("resume", subject) for subject in ("run:1", "\0 and \x01")]


@pytest.fixture
async def installation(path: Path, clock: Clock) -> Installation:
    store = await SqliteStore.open(path, clock=clock)
    with_blob = await furnish(store)
    await store.add(an_inquiry(session="\0", context="a\0b", request_key="\x01\x02"))
    await store.put_token(a_token(name="bea"))
    jobs = (a_job(), a_job("\0", subject="\0 and \x01", due=NOW + 99))
    effects = Effects(records=(a_record(), a_record("\x01\0", body={"a": [1, None, "ü\0"]})), jobs=jobs)
    await store.revise("run", "1", writing(effects))
    (held,) = await claimed(store)
    made = Installation(path, with_blob, held, await kept(store, with_blob), await ledger(store))
    await store.close()
    return made


async def test_everything_arrives_as_it_was(installation: Installation, address: str, clock: Clock) -> None:
    before = sha256(installation.path.read_bytes()).digest()

    moved = await move(installation.path, address)

    assert not moved.already
    assert moved.counts == {
        "inquiry": 22,
        "attachment": 1,
        "event": 33,
        "token": 2,
        "record": 2,
        "job": 2,
    }
    assert sha256(installation.path.read_bytes()).digest() == before
    store = await PostgresStore.open(address, clock=clock)
    assert await kept(store, installation.with_blob) == installation.contents
    assert await ledger(store) == installation.ledger
    # Work goes on where it was: numbers are not given again, a held job is still held.
    assert await claimed(store) == []
    assert await store.settle(installation.held)
    assert (await store.add(an_inquiry(session="new"))).created
    again = await store.add(an_inquiry(context="Grüße 👋", request_key="call-1"))
    assert not again.created
    await store.update(installation.contents.open[-1].id, answering())
    assert [event.seq for event in await store.events(33)] == [34, 35]
    await store.revise("run", "1", writing(Effects(jobs=(a_job("later"),))))
    (job,) = await store.claim(["resume"], runner="", now=NOW + 1, lease=LEASE, limit=9)
    assert job.fence > installation.held.fence
    await store.close()


async def test_doing_it_again_finds_everything_there(installation: Installation, address: str) -> None:
    first = await move(installation.path, address)
    second = await move(installation.path, address)
    assert (first.already, second.already) == (False, True)
    assert first.counts == second.counts


@pytest.mark.parametrize("words", [b"COPY", b"setval", b"COMMIT"])
async def test_what_is_interrupted_leaves_nothing_and_can_be_begun_again(
    installation: Installation, address: str, tap: WireTap, words: bytes
) -> None:
    await (await PostgresStore.open(address)).close()
    tap.cut_before = words
    with pytest.raises(StorageError, match="lost"):
        await move(installation.path, tap.address(address))
    assert tap.cuts == 1
    with psycopg.connect(address) as admin:
        assert admin.execute("SELECT count(*) FROM upcall.event").fetchone() == (0,)
    assert not (await move(installation.path, address)).already


async def test_a_database_that_is_in_use_is_not_moved_into(
    installation: Installation, shared: PostgresStore, address: str
) -> None:
    theirs = (await shared.add(an_inquiry())).inquiry
    with pytest.raises(StorageError, match="not in the source"):
        await move(installation.path, address)
    assert await shared.get(theirs.id) == theirs
    assert await shared.last_seq() == 1


async def test_what_was_damaged_on_its_way_is_not_kept(installation: Installation, address: str) -> None:
    await (await PostgresStore.open(address)).close()
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(
            """
            CREATE FUNCTION forget() RETURNS TRIGGER LANGUAGE plpgsql AS
                'BEGIN NEW.state = ''lost''; RETURN NEW; END';
            CREATE TRIGGER forget BEFORE INSERT ON upcall.record FOR EACH ROW EXECUTE FUNCTION forget();
            """
        )
        with pytest.raises(StorageError, match="read back of record"):
            await move(installation.path, address)
        assert admin.execute("SELECT count(*) FROM upcall.inquiry").fetchone() == (0,)


async def test_a_daemon_of_the_target_waits_while_it_is_moved_into(
    installation: Installation, shared: PostgresStore, address: str
) -> None:
    moved, added = await asyncio.gather(
        move(installation.path, address), shared.add(an_inquiry(session="theirs")), return_exceptions=True
    )
    # Either may be first; it is never a mixture.
    with psycopg.connect(address) as admin:
        counted = admin.execute("SELECT count(*) FROM upcall.event").fetchone()
    assert counted == ((34,) if not isinstance(moved, BaseException) else (1,))
    assert not isinstance(added, BaseException)
