"""Words in SQLite: written down for what has changed since the last search, and looked up."""

import sqlite3

from upcall.domain.errors import DamagedRow
from upcall.domain.inquiry import searching
from upcall.ports.store import Query
from upcall.stores import codec
from upcall.stores.damage import log_once

AT_ONCE = 200
"""How many inquiries are read for their words in one step; other writes go on between the steps."""

FOUND = "number IN (SELECT rowid FROM inquiry_words WHERE inquiry_words MATCH ?)"
UNSEARCHED = f"""
    SELECT number, {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_unsearched
    WHERE searched IS NOT state ORDER BY number LIMIT ?
"""  # noqa: S608 - our own constant; values are bound


def catch_up(db: sqlite3.Connection, limit: int = AT_ONCE) -> bool:
    """Write down the words of some inquiries; whether there may be more of them."""
    rows = db.execute(UNSEARCHED, (limit,)).fetchall()
    for number, *columns in rows:
        words, state = "", columns[codec.STATE]
        try:
            inquiry = codec.decode(columns)
            words, state = " ".join(searching.words_of(inquiry)), inquiry.state_name
        except DamagedRow as problem:
            # Without words it is not found, and those after it are.
            log_once(problem)
        db.execute("INSERT OR REPLACE INTO inquiry_words (rowid, words) VALUES (?, ?)", (number, words))
        db.execute("UPDATE inquiry SET searched = ? WHERE number = ?", (state, number))
    return len(rows) == limit


def condition(query: Query) -> tuple[str, list[object]]:
    """The further condition of a search."""
    # Words are letters and digits, so none of them ends its quotation marks.
    wanted = [
        *[f'"{word}" *' for word in searching.wanted(query.text)],
        *[f'"{mark}"' for mark in marks(query)],
    ]
    return (FOUND, [" AND ".join(wanted)]) if wanted else ("FALSE", [])


def is_search(query: Query) -> bool:
    """Whether a query needs words at all."""
    return bool(query.text.strip()) or query.workspace is not None


def marks(query: Query) -> list[str]:
    """The marks of what a query is narrowed to."""
    return [] if query.workspace is None else [searching.workspace_mark(query.workspace)]
