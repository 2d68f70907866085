"""A row that cannot be read is named and left out; it keeps no other row from being read or written."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from upcall.domain.errors import DamagedRow
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.ports.store import Query, Store
from upcall.stores import damage
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import NOW, Clock, an_inquiry, answering


@pytest.fixture(autouse=True)
def _nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each row is named once in a process, and every test is in this one.
    monkeypatch.setattr(damage, "_told", set[str]())


async def filled(store: Store) -> list[Inquiry]:
    asked = [(await store.add(an_inquiry(session=f"s{number}"))).inquiry for number in range(3)]
    for number in range(3):
        record = Record(kind="note", key=f"n{number}", state="", at=NOW + number, body={"n": number})
        job = Job(id=f"j{number}", kind="work", subject="s", due=NOW, body={"n": number})
        effects = Effects(
            records=(record,), jobs=(job,), happenings=(Happening(type="noted", at=NOW, data={"n": number}),)
        )
        await store.revise("note", record.key, partial(_always, effects))
    return asked


def _always(effects: Effects, kept: Record | None) -> Effects:
    return effects


async def check(store: Store, asked: list[Inquiry], caplog: pytest.LogCaptureFixture) -> None:
    first, bad, last = asked
    assert {each.id for each in (await store.find(Query())).items} == {first.id, last.id}
    assert {each.id for each in (await store.find(Query(text="which"))).items} <= {first.id, last.id}
    seen = [event.seq for event in await store.events(0)]
    assert 1 in seen
    assert 2 not in seen
    assert seen[-1] == 6
    # Also where a page holds nothing else.
    assert [event.seq for event in await store.events(1, limit=1)] == [3]
    page = await store.records("note", limit=2)
    assert [record.key for record in page.items] == ["n2"]
    assert page.next is not None
    rest = await store.records("note", cursor=page.next)
    assert [record.key for record in rest.items] == ["n0"]
    claimed = await store.claim(["work"], runner="", now=NOW + 1, lease=60, limit=10)
    assert {job.id for job in claimed} == {"j0", "j2"}
    done = await asyncio.gather(
        store.get(bad.id),
        store.get(first.id),
        store.update(bad.id, answering()),
        store.update(last.id, answering()),
        store.look_up("note", "n1"),
        store.look_up("note", "n0"),
        return_exceptions=True,
    )
    assert [isinstance(each, DamagedRow) for each in done] == [True, False, True, False, True, False]
    told = " ".join(record.getMessage() for record in caplog.records)
    for name in (bad.id, "the event 2", "note/n1", "j1"):
        assert name in told


SPOILED = (
    ("UPDATE {inquiry} SET body = '{{}}' WHERE ref = '{ref}'"),
    ("UPDATE {event} SET data = '{{' WHERE seq = 2"),
    ("UPDATE {record} SET body = '[]' WHERE key = 'n1'"),
    ("UPDATE {job} SET body = 'nothing' WHERE id = 'j1'"),
)


def statements(prefix: str, ref: str) -> list[str]:
    names = {name: f"{prefix}{name}" for name in ("inquiry", "event", "record", "job")}
    return [statement.format(ref=ref, **names) for statement in SPOILED]


@pytest.mark.promise("trust/22")
async def test_damaged_rows_of_sqlite_concern_themselves_alone(
    path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "upcall")
    store = await SqliteStore.open(path, clock=clock)
    asked = await filled(store)
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        for statement in statements("", asked[1].ref):
            db.execute(statement)
        db.commit()
    store = await SqliteStore.open(path, clock=clock)
    try:
        await check(store, asked, caplog)
    finally:
        await store.close()


@pytest.mark.promise("trust/22")
async def test_damaged_rows_of_postgres_concern_themselves_alone(
    address: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "upcall")
    store = await PostgresStore.open(address, clock=clock)
    asked = await filled(store)
    await store.close()
    with psycopg.connect(address, autocommit=True) as db:
        for statement in statements("upcall.", asked[1].ref):
            db.execute(statement.encode())
    store = await PostgresStore.open(address, clock=clock)
    try:
        await check(store, asked, caplog)
    finally:
        await store.close()


@pytest.mark.promise("trust/22")
async def test_a_damaged_event_of_another_daemon_does_not_hold_up_the_log(
    shared: PostgresStore, address: str
) -> None:
    await shared.add(an_inquiry())
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("UPDATE upcall.event SET data = '{' WHERE seq = 1")
        other = await PostgresStore.open(address)
        try:
            await shared.add(an_inquiry(session="later"))
            found = await other.events(1, wait=60)
            assert [event.seq for event in found] == [2]
        finally:
            await other.close()
