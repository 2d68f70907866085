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


# What a search of 0.2 does to rows that it takes for new ones.
INDEX_OF_0_2 = """
    WITH marked AS (UPDATE upcall.inquiry SET searched = state WHERE searched IS DISTINCT FROM state RETURNING number)
    INSERT INTO upcall.inquiry_words (number, words) SELECT number, array_to_tsvector(ARRAY['colour']) FROM marked
    ON CONFLICT (number) DO UPDATE SET words = EXCLUDED.words
"""


async def test_what_a_daemon_of_the_version_before_has_indexed_is_found_by_its_state(address: str) -> None:
    store = await PostgresStore.open(address)
    asked = (await store.add(an_inquiry(context="Which colour?"))).inquiry
    # It runs until it is restarted, too.
    with psycopg.connect(address) as old:
        old.execute(INDEX_OF_0_2)
    found = await store.find(Query(state="open", text="colour"))
    assert [inquiry.id for inquiry in found.items] == [asked.id]
    await store.close()
