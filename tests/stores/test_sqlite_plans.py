"""What is asked all the time never reads history."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.sqlite import reads, search
from upcall.stores.sqlite.migrations import migrate
from upcall.stores.sqlite.reads import Reads
from upcall.testing.examples import DAY, NOW, an_inquiry, answering

OPEN_LISTS = {
    "open": Query(state="open"),
    "open, next page": Query(state="open", cursor="open-5"),
    "open of one agent": Query(state="open", agent="builder"),
    "open of one kind": Query(state="open", kind=Kind.TEXT),
}
CLOSED_LISTS = {
    "closed": Query(state="closed"),
    "closed, next page": Query(state="closed", cursor="closed-5-1800000000.5"),
    "answered": Query(state="answered"),
    "done today": Query(closed_since=NOW + DAY),
    "answered today, next page": Query(state="answered", closed_since=NOW, cursor="closed-5-1800000000.5"),
}


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made)
        yield made


def plan(db: sqlite3.Connection, sql: str, values: Any = ()) -> list[str]:
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize("query", OPEN_LISTS.values(), ids=OPEN_LISTS.keys())
def test_lists_of_open_inquiries_read_only_their_own_index(db: sqlite3.Connection, query: Query) -> None:
    (step,) = plan(db, *reads.statement(query))
    assert "INDEX inquiry_open" in step


@pytest.mark.parametrize("query", CLOSED_LISTS.values(), ids=CLOSED_LISTS.keys())
def test_lists_of_closed_inquiries_follow_their_index_without_sorting(
    db: sqlite3.Connection, query: Query
) -> None:
    (step,) = plan(db, *reads.statement(query))
    assert "INDEX inquiry_closed" in step


def test_an_agents_own_list_and_the_list_of_all_are_read_in_order(db: sqlite3.Connection) -> None:
    assert plan(db, *reads.statement(Query(agent="builder", cursor="asked-5"))) == [
        "SEARCH inquiry USING INDEX inquiry_agent (agent=? AND number<?)"
    ]
    assert plan(db, *reads.statement(Query(cursor="asked-5"))) == [
        "SEARCH inquiry USING INTEGER PRIMARY KEY (rowid<?)"
    ]


def test_what_a_run_waits_for_is_read_from_its_own_index(db: sqlite3.Connection) -> None:
    assert plan(db, *reads.statement(Query(state="open", agent="builder", run=7, cursor="open-5"))) == [
        "SEARCH inquiry USING INDEX inquiry_run (run=? AND number>?)"
    ]


def test_deadlines_and_the_count_of_open_ones_read_only_an_index_of_open_ones(db: sqlite3.Connection) -> None:
    assert plan(db, reads.DUE, (NOW, 10)) == ["SEARCH inquiry USING INDEX inquiry_due (expires_at<?)"]
    (next_expiry,) = plan(db, reads.NEXT_EXPIRY)
    assert "USING INDEX inquiry_due" in next_expiry
    (count,) = plan(db, reads.COUNT_OPEN)
    assert "USING COVERING INDEX inquiry_open" in count
    (snoozed,) = plan(db, reads.COUNT_SNOOZED, (NOW,))
    assert "USING INDEX inquiry_snoozed" in snoozed


SEARCHES = {
    "everything": Query(text="red", cursor="asked-5"),
    "open": Query(text="red", state="open", cursor="open-5"),
    "closed of one agent and run": Query(text="red cache", state="closed", agent="builder", run=7),
    "a workspace": Query(workspace="/srv/shop"),
}


@pytest.mark.promise("proof/13")
@pytest.mark.parametrize("query", SEARCHES.values(), ids=SEARCHES.keys())
def test_a_search_follows_the_words_in_the_order_of_its_page_without_sorting(
    db: sqlite3.Connection, query: Query
) -> None:
    words, inquiry = plan(db, *reads.statement(query))
    assert words.startswith("SCAN inquiry_words VIRTUAL TABLE INDEX")
    assert inquiry == "SEARCH inquiry USING INTEGER PRIMARY KEY (rowid=?)"


def keep(db: sqlite3.Connection, inquiry: Inquiry) -> None:
    marks = ", ".join("?" * len(codec.COLUMNS.split(",")))
    db.execute(
        f"INSERT INTO inquiry ({codec.COLUMNS}) VALUES ({marks})", codec.row(inquiry, codec.body(inquiry))
    )


def past(at: int) -> Inquiry:
    step = answering(at=NOW + at)(an_inquiry(expires_at=NOW + DAY))
    assert step is not None
    return replace(step.inquiry, ref=f"r{at}")


def effort(db: sqlite3.Connection) -> int:
    """How many steps SQLite takes for what a daemon asks all the time."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    asking = Reads(db)
    db.set_progress_handler(count, 1)
    for query in OPEN_LISTS.values():
        asking.find(query)
    asking.find(Query(state="closed", limit=5))
    asking.find(Query(closed_since=NOW + DAY))
    asking.due(NOW, 100)
    asking.next_expiry()
    asking.count_open()
    asking.events(0, 10)
    db.set_progress_handler(None, 1)
    return steps


def test_a_longer_history_costs_nothing(db: sqlite3.Connection) -> None:
    for _ in range(20):
        keep(db, an_inquiry())
    for at in range(10):
        keep(db, past(at))
    short = effort(db)
    for at in range(10, 5000):
        keep(db, past(at))
    assert effort(db) == short


def searched(db: sqlite3.Connection, query: Query) -> int:
    """How many steps SQLite takes for a search."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    db.set_progress_handler(count, 1)
    assert len(Reads(db).find(query).items) == query.limit
    db.set_progress_handler(None, 1)
    return steps


@pytest.mark.promise("proof/13")
def test_the_first_page_of_a_search_costs_the_same_however_many_are_found(db: sqlite3.Connection) -> None:
    queries = [
        Query(text="w", limit=5),
        Query(text="which colou", limit=5),
        Query(text="w", state="answered", agent="builder", limit=5),
        Query(text="w", state="open", limit=5),
    ]
    for _ in range(20):
        keep(db, an_inquiry(agent="builder"))
    for at in range(20):
        keep(db, past(at))
    search.index(db, search.unindexed(db, 1000))
    before = [searched(db, query) for query in queries]
    for at in range(20, 1000):
        keep(db, past(at))
    search.index(db, search.unindexed(db, 1000))
    # There are 50 times as many; the words may lie in one piece more.
    assert all(searched(db, query) <= 1.5 * few for query, few in zip(queries, before, strict=True))
