"""Words in SQLite: an FTS5 table, in the order of the inquiries' numbers.

Its prefix indexes make the beginning of a word as cheap to look up as a whole one, and rows come in the order of their numbers:
a page ends where it is full, however many more would be found.
"""

import sqlite3
from collections.abc import Sequence

from upcall.domain.inquiry import searching
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.listing import listing
from upcall.stores.words import Words, marks, words_in

UNINDEXED = f"""
    SELECT number, {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_unsearched
    WHERE searched IS NOT state ORDER BY number DESC LIMIT ?
"""  # noqa: S608 - our own constant; values are bound


def unindexed(db: sqlite3.Connection, limit: int) -> list[Words]:
    """The words of some inquiries that have changed since they were last indexed."""
    return words_in(db.execute(UNINDEXED, (limit,)), codec.decode)


def index(db: sqlite3.Connection, found: Sequence[Words]) -> None:
    """Index the words of those that are still in the same state."""
    for number, state, words in found:
        sql = "UPDATE inquiry SET searched = ? WHERE number = ? AND state = ?"
        if db.execute(sql, (state, number, state)).rowcount:
            db.execute("INSERT OR REPLACE INTO inquiry_words (rowid, words) VALUES (?, ?)", (number, words))


def statement(query: Query) -> tuple[str, list[object]]:
    """The SQL and the values of a search.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    made = listing(query, "inquiry_words.rowid")
    words = searching.wanted(query.text)
    # Words are letters and digits, so none of them ends its quotation marks.
    wanted = [*[f'"{word}" *' for word in words], *[f'"{mark}"' for mark in marks(query)]]
    # A text without a single word is in no inquiry.
    is_there = "inquiry_words MATCH ?" if words or not query.text.strip() else "? IS NULL"
    sql = f"""
        SELECT number, closed_at, {codec.COLUMNS}
        FROM inquiry_words CROSS JOIN inquiry ON inquiry.number = inquiry_words.rowid
        WHERE {is_there} AND {made.where} ORDER BY {made.by} LIMIT ?
    """  # noqa: S608 - every part is one of our own constants
    return sql, [" AND ".join(wanted), *made.values, query.limit + 1]
