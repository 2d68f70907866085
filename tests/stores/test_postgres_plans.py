"""What is asked all the time never reads history, in PostgreSQL either."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from upcall.domain.inquiry.inquiry import Kind
from upcall.ports.store import Query
from upcall.stores.postgres import jobs, ledger, reads, rows, statements, transaction
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import DAY, NOW

OPEN_LISTS = {
    "open": Query(state="open"),
    "open, next page": Query(state="open", cursor="open-5"),
    "open of one agent": Query(state="open", agent="agent0"),
    "open of one kind": Query(state="open", kind=Kind.TEXT),
}
CLOSED_LISTS = {
    "closed": Query(state="closed"),
    "closed, next page": Query(state="closed", cursor="closed-5-1800000000.5"),
    "answered": Query(state="answered"),
    "done today": Query(closed_since=NOW + DAY),
}
HISTORY = """
    INSERT INTO upcall.inquiry
    SELECT n, 'id' || n, 'r' || n, CASE WHEN n % 1000 = 0 THEN 'open' ELSE 'answered' END, 'text',
           'agent' || n % 100, 'session' || n % 500, 'question', CASE WHEN n % 2 = 0 THEN 'key' || n END,
           n, n + 3600, CASE WHEN n % 1000 = 0 THEN NULL ELSE n + 60 END, NULL, '{}'
    FROM generate_series(1, 20000) AS n;
    INSERT INTO upcall.event SELECT n, 'asked', 'id' || n, n, '{}' FROM generate_series(1, 20000) AS n;
    INSERT INTO upcall.record
    SELECT 'kind' || n % 4, 'key' || n, 'state' || n % 5, n, '{}' FROM generate_series(1, 20000) AS n;
    INSERT INTO upcall.job
    SELECT 'id' || n, 'kind' || n % 4, 'subject' || n % 1000, '', n, n, 0, '{}' FROM generate_series(1, 20000) AS n;
    ANALYZE upcall.inquiry, upcall.event, upcall.record, upcall.job;
"""


@pytest.fixture
async def db(address: str) -> AsyncIterator[psycopg.Connection[tuple[Any, ...]]]:
    await (await PostgresStore.open(address)).close()
    with psycopg.connect(address, autocommit=True) as opened:
        opened.execute(HISTORY)
        yield opened


def plan(db: psycopg.Connection[tuple[Any, ...]], sql: str | bytes, values: Any = ()) -> str:
    text = sql if isinstance(sql, bytes) else sql.encode()
    return "\n".join(line for (line,) in db.execute(b"EXPLAIN " + text, values))


@pytest.mark.parametrize("query", OPEN_LISTS.values(), ids=OPEN_LISTS.keys())
async def test_lists_of_open_inquiries_read_only_their_own_index(
    db: psycopg.Connection[tuple[Any, ...]], query: Query
) -> None:
    steps = plan(db, *reads.statement(query))
    assert "inquiry_open" in steps
    assert "Seq Scan" not in steps


@pytest.mark.parametrize("query", CLOSED_LISTS.values(), ids=CLOSED_LISTS.keys())
async def test_lists_of_closed_inquiries_follow_their_index_without_sorting(
    db: psycopg.Connection[tuple[Any, ...]], query: Query
) -> None:
    steps = plan(db, *reads.statement(query))
    assert "inquiry_closed" in steps
    assert "Sort" not in steps


async def test_everything_else_that_is_asked_all_the_time_has_its_index(
    db: psycopg.Connection[tuple[Any, ...]],
) -> None:
    key = [["session1"], ["question"], ["key2"], ["agent2"]]
    asked: list[tuple[str, Any, str]] = [
        (rows.LOCATE_IDS, (["id5", "id6"],), "inquiry_id_key"),
        (rows.LOCATE, (["r5"], ["r5"]), "inquiry_ref"),
        (statements.ASKED_BEFORE, key, "inquiry_request"),
        (statements.TAKEN, (["r5", "r6", "r7"], NOW), "inquiry_ref"),
        (reads.DUE, (NOW, 500), "inquiry_due"),
        (reads.NEXT_EXPIRY, (), "inquiry_due"),
        (reads.EVENTS, (19_000, 1000), "event_pkey"),
        (ledger.LOOK_UP, ("kind1", "key5"), "record_pkey"),
        (transaction.RECORDS, (["kind1"], ["key5"]), "record_pkey"),
        (ledger.ABOUT, ("kind1", "subject5"), "job_about"),
        (ledger.NEXT_DUE, (["kind1"], ["", "here"]), "job_due"),
        (jobs.CLAIM, (["kind1", "kind2"], 100.0, ["", "here"], 10, 200.0, "7"), "job_due"),
    ]
    for sql, values, index in asked:
        steps = plan(db, sql, values)
        assert index in steps, steps
        assert "Seq Scan" not in steps, steps


@pytest.mark.parametrize("state", [None, "state3"])
@pytest.mark.parametrize("cursor", [None, '[9000.0, "key9000"]'])
async def test_lists_of_records_follow_their_index_without_sorting(
    db: psycopg.Connection[tuple[Any, ...]], state: str | None, cursor: str | None
) -> None:
    steps = plan(db, *ledger.listing("kind1", state, cursor, 50))
    assert ("record_listed" if state is None else "record_in_state") in steps
    assert "Sort" not in steps


async def test_what_is_open_is_counted_without_history(db: psycopg.Connection[tuple[Any, ...]]) -> None:
    assert "Seq Scan" not in plan(db, reads.COUNT_OPEN)


async def test_what_a_run_waits_for_is_read_from_its_own_index(
    db: psycopg.Connection[tuple[Any, ...]],
) -> None:
    """With five thousand open inquiries, of which each run has one or two."""
    db.execute(
        "UPDATE upcall.inquiry SET run = number / 2, state = 'open', closed_at = NULL WHERE number <= 5000"
    )
    db.execute("ANALYZE upcall.inquiry")
    steps = plan(db, *reads.statement(Query(state="open", run=7)))
    assert "inquiry_run" in steps, steps
    assert "inquiry_open" not in steps, steps
