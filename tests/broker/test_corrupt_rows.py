"""A row that something else than Upcall has written to stops nothing but itself, on both databases."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typing_extensions import override

from upcall.access.tokens import Access
from upcall.broker.broker import Broker, Policy
from upcall.domain.errors import StorageError, Unauthenticated
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Job
from upcall.domain.roles import Role
from upcall.domain.thread.thread import QUEUE, THREAD
from upcall.ports.background import Background
from upcall.ports.store import Query, Store
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_origin

SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A store, and a way to its rows behind its back."""

    store: Store
    execute: Callable[[str], None]

    async def asked(self, broker: Broker, **more: Any) -> Inquiry:
        origin = an_origin(**{key: more.pop(key) for key in ("thread", "request_key") if key in more})
        return (await broker.ask(draft({"question": "Which cache?", **more}), origin)).inquiry


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    store: Store
    if request.param == "sqlite":
        path = tmp_path / "upcall.db"

        def execute(sql: str) -> None:
            with closing(sqlite3.connect(path)) as db, db:
                assert db.execute(sql.replace("upcall.", "")).rowcount > 0

        store = await SqliteStore.open(path)
    else:
        address = request.getfixturevalue("postgres").database(tmp_path)

        def execute(sql: str) -> None:
            with psycopg.connect(address, autocommit=True) as db:
                assert db.execute(sql.encode()).rowcount > 0

        store = await PostgresStore.open(address)
    yield Database(store=store, execute=execute)
    await store.close()


@pytest.mark.promise("trust/43")
@pytest.mark.thorough
async def test_one_corrupt_open_row_is_logged_and_the_others_expire(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(database.store)
    corrupt = await database.asked(broker)
    database.execute(f"UPDATE upcall.inquiry SET body = '{{}}', expires_at = 1 WHERE id = '{corrupt.id}'")
    await broker.start()
    try:
        async with asyncio.timeout(SECONDS):
            for _ in range(2):
                ended = await broker.wait(await database.asked(broker, ttl=1))
                assert ended.state_name == "expired"
    finally:
        await broker.close()
    assert f"{corrupt.id}: its expiry failed" in caplog.text


class Noted(logging.Handler):
    """Tells when a line of the log has certain words."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.heard = asyncio.Event()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self.heard.set()


@pytest.mark.promise("trust/43")
@pytest.mark.thorough
async def test_a_row_that_is_mended_expires_after_all(database: Database) -> None:
    broker = Broker(database.store)
    corrupt, noted = await database.asked(broker), Noted("its expiry failed")
    row = f"WHERE id = '{corrupt.id}'"
    database.execute(f"UPDATE upcall.inquiry SET body = '[' || body, expires_at = 1 {row}")
    logging.getLogger("upcall.expiry").addHandler(noted)
    await broker.start()
    try:
        async with asyncio.timeout(SECONDS):
            await noted.heard.wait()
            database.execute(f"UPDATE upcall.inquiry SET body = substr(body, 2) {row}")
            assert (await broker.wait(corrupt)).state_name == "expired"
    finally:
        await broker.close()
        logging.getLogger("upcall.expiry").removeHandler(noted)


@pytest.mark.promise("trust/43")
async def test_a_thread_that_cannot_be_read_holds_up_no_other_thread(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(database.store)
    waiting: dict[str, Inquiry] = {}
    for thread in ("broken", "sound"):
        first = await database.asked(broker, thread=thread, request_key=f"{thread}-1")
        waiting[thread] = await database.asked(broker, thread=thread, request_key=f"{thread}-2")
        assert first.is_open
        assert waiting[thread].is_queued
        # The turn is free, and no prompt has been called up.
        database.execute(
            f"UPDATE upcall.record SET body = replace(body, '{first.id}', '') WHERE kind = '{THREAD}'"
        )
    database.execute(f"UPDATE upcall.record SET body = '{{}}' WHERE kind = '{THREAD}' AND key = 'broken'")
    assert {record.state for record in (await database.store.records(QUEUE)).items} == {"broken", "sound"}
    await broker.thread_queue.advance_all()
    assert not (await database.store.get(waiting["sound"].id)).is_queued
    assert "the thread broken" in caplog.text


@pytest.mark.promise("trust/43")
@pytest.mark.parametrize("installation", ["", "here"])
async def test_on_restart_ends_every_question_but_the_one_that_cannot_be_read(
    database: Database, installation: str
) -> None:
    policy = Policy(on_restart="cancel")
    before = Broker(database.store, policy, installation=installation)
    await before.start()
    corrupt, sound = await database.asked(before), await database.asked(before)
    await before.close()
    database.execute(f"UPDATE upcall.inquiry SET body = '{{}}' WHERE id = '{corrupt.id}'")
    after = Broker(database.store, policy, installation=installation)
    await after.start()
    await after.close()
    assert (await database.store.get(sound.id)).state_name == "cancelled"
    assert await database.store.count_open() == 1


@pytest.mark.promise("trust/43")
async def test_a_list_leaves_out_the_row_that_cannot_be_read_and_names_it(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(database.store)
    corrupt, sound = await database.asked(broker), await database.asked(broker)
    database.execute(f"UPDATE upcall.inquiry SET body = '{{}}' WHERE id = '{corrupt.id}'")
    assert [each.id for each in (await database.store.find(Query(state="open"))).items] == [sound.id]
    assert corrupt.id in caplog.text


@pytest.mark.promise("trust/43")
async def test_a_token_that_cannot_be_read_lets_nobody_in_and_the_others_are_revoked_in_time(
    database: Database,
) -> None:
    access = Access(database.store)
    secrets = {name: await access.create(name, Role.PERSON) for name in ("ana", "ben", "cid")}
    database.execute("UPDATE upcall.token SET role = 'nothing' WHERE name = 'ana'")
    database.execute("DELETE FROM upcall.token WHERE name = 'ben'")
    await access.load()
    assert access.identify(secrets["cid"]).name == "cid"
    for gone in ("ana", "ben"):
        with pytest.raises(Unauthenticated):
            access.identify(secrets[gone])


@pytest.mark.promise("trust/43")
async def test_a_job_that_cannot_be_read_is_out_of_the_way_of_the_others(database: Database) -> None:
    store = database.store
    jobs = tuple(Job(id=name, kind="show:x", subject="s", due=float(at)) for at, name in enumerate("abc"))
    await store.revise("x", "y", lambda _: Effects(jobs=jobs))
    database.execute("UPDATE upcall.job SET body = 'nothing' WHERE id = 'a'")
    now = store.now()
    claimed = [await store.claim(["show:x"], runner="", now=now, lease=60, limit=1) for _ in range(3)]
    assert [job.id for jobs in claimed for job in jobs] == ["b", "c"]


@pytest.mark.promise("house/5")
async def test_background_work_survives_every_exception_and_its_pauses_grow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    turns, done = 0, asyncio.Event()

    async def turn() -> None:
        nonlocal turns
        turns += 1
        if turns == 1:
            raise KeyError("body")
        if turns == 2:
            raise StorageError("the disk is full")
        done.set()
        await asyncio.Event().wait()

    work = Background("the work", turn, logging.getLogger("upcall.test"), pauses=(0.0, 0.01))
    work.start()
    async with asyncio.timeout(SECONDS):
        await done.wait()
    await work.close()
    assert "the work failed; again in 0 s" in caplog.text
    assert "the work: the disk is full; again in 0.01 s" in caplog.text
    assert turns == 3
