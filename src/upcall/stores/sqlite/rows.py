"""Writes many rows with one statement.

Every call into SQLite lets go of the interpreter and has to win it back from a busy event loop; a statement for many
rows does so once.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

Row = tuple[object, ...]

MOST_ROWS = 32
"""The most rows of a statement."""

STATEMENTS = 256
"""The statements that a connection keeps prepared: one for each number of rows, and room for all others."""


def write(db: sqlite3.Connection, statement: str, rows: Sequence[Row]) -> None:
    """Run a statement with `{rows}` in the place of the rows that it takes; without rows, nothing is done."""
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        db.execute(_for_many(statement, len(some), len(some[0])), tuple(chain.from_iterable(some)))


@lru_cache(maxsize=STATEMENTS)
def _for_many(statement: str, rows: int, columns: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return statement.format(rows=", ".join([row] * rows))
