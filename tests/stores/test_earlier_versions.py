"""What was written before a column was there: the step that makes it fills it in."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from upcall.ports.store import Query, Store
from upcall.stores.postgres.schema import migrations as postgres_steps
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.migrations import migrations as sqlite_steps
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry

ODD = 'of a run,"run":9, or so it says \0 \ud800'


async def asked(store: Store) -> list[str]:
    """Two questions of run 7 among others."""
    added = [await store.add(an_inquiry(run=run, context=ODD)) for run in (7, None, 8, 7)]
    await store.close()
    return [each.inquiry.id for each in added]


async def of_run(store: Store, run: int) -> list[str]:
    page = await store.find(Query(state="open", run=run))
    return [inquiry.id for inquiry in page.items]


async def test_runs_questions_are_found_in_a_sqlite_database_without_that_column(path: Path) -> None:
    names = await asked(await SqliteStore.open(path))
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP INDEX inquiry_run; ALTER TABLE inquiry DROP COLUMN run")
        db.executescript(next(step.sql for step in sqlite_steps() if step.number == 3))
    store = await SqliteStore.open(path)
    assert (await of_run(store, 7), await of_run(store, 9)) == ([names[0], names[3]], [])
    await store.close()


async def test_runs_questions_are_found_in_a_postgresql_database_without_that_column(address: str) -> None:
    names = await asked(await PostgresStore.open(address))
    with psycopg.connect(address) as db:
        db.execute("ALTER TABLE upcall.inquiry DROP COLUMN run")
        db.execute(next(step.sql for step in postgres_steps() if step.number == 3))
    store = await PostgresStore.open(address)
    assert (await of_run(store, 7), await of_run(store, 9)) == ([names[0], names[3]], [])
    await store.close()
