"""The statements that read a SQLite database, and the cursors of their pages."""

import math
import sqlite3
from collections.abc import Sequence
from typing import Any

from upcall.domain.errors import InvalidRequest, UnknownInquiry
from upcall.domain.inquiry import STATE_NAMES, Inquiry
from upcall.domain.roles import Role, Token
from upcall.ports import Event, Page, Query
from upcall.stores import codec

# Here and below, what is put into a statement is a constant of ours; values are always bound.
_BY_ID = f"SELECT number, {codec.COLUMNS} FROM inquiry WHERE id = ?"  # noqa: S608
_BY_REF = f"""
    SELECT number, {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_ref
    WHERE ref = ? ORDER BY closed_at IS NULL DESC, number DESC LIMIT 1
"""  # noqa: S608 - our own constant; values are bound
DUE = """
    SELECT id FROM inquiry INDEXED BY inquiry_due
    WHERE state = 'open' AND expires_at <= ? ORDER BY expires_at LIMIT ?
"""
NEXT_EXPIRY = """
    SELECT expires_at FROM inquiry INDEXED BY inquiry_due WHERE state = 'open' ORDER BY expires_at LIMIT 1
"""
COUNT_OPEN = "SELECT count(*) FROM inquiry INDEXED BY inquiry_open WHERE state = 'open'"
EVENTS = "SELECT seq, type, inquiry, at, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?"


def locate(db: sqlite3.Connection, name: str) -> Sequence[Any]:
    """The number and columns of the inquiry with this id, or the open, otherwise the latest, with this ref.

    Raises:
        UnknownInquiry: if there is none.
    """
    try:
        row = db.execute(_BY_ID, (name,)).fetchone() or db.execute(_BY_REF, (name,)).fetchone()
    except UnicodeEncodeError:
        row = None  # half a surrogate pair can be sent, but never kept
    if row is None:
        raise UnknownInquiry(name)
    found: Sequence[Any] = row
    return found


def last_seq(db: sqlite3.Connection) -> int:
    """The highest number that an event ever had; 0 when there was none."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone()
    return 0 if row is None else row[0]


def last_number(db: sqlite3.Connection) -> int:
    """The highest number that an inquiry has; 0 when there is none."""
    row = db.execute("SELECT max(number) FROM inquiry").fetchone()
    return row[0] or 0


class Reads:
    """Questions to one read-only connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def get(self, name: str) -> Inquiry:
        """One inquiry."""
        return codec.decode(locate(self._db, name)[1:])

    def find(self, query: Query) -> Page:
        """A page of inquiries."""
        sql, values = statement(query)
        rows = self._db.execute(sql, values).fetchall()
        shown = rows[: query.limit]
        more = len(rows) > query.limit
        return Page(
            items=tuple([codec.decode(row[2:]) for row in shown]),
            next=_cursor(_order(query), shown[-1][0], shown[-1][1]) if more else None,
        )

    def due(self, now: float, limit: int) -> list[str]:
        """Which open inquiries are past their time, the longest first."""
        return [name for (name,) in self._db.execute(DUE, (now, limit))]

    def next_expiry(self) -> float | None:
        """When the next open inquiry expires."""
        row = self._db.execute(NEXT_EXPIRY).fetchone()
        return None if row is None else row[0]

    def count_open(self) -> int:
        """How many inquiries are open."""
        count: int = self._db.execute(COUNT_OPEN).fetchone()[0]
        return count

    def attachment(self, name: str, index: int) -> bytes:
        """An attachment's bytes."""
        about = locate(self._db, name)[1]
        sql = "SELECT content FROM attachment WHERE inquiry = ? AND position = ?"
        row = self._db.execute(sql, (about, index)).fetchone() if 0 <= index < 2**31 else None
        if row is None:
            raise UnknownInquiry(name)
        content: bytes = row[0]
        return content

    def events(self, after: int, limit: int) -> list[Event]:
        """The log after that number."""
        return [
            Event(seq=seq, type=kind, inquiry=about, at=at, data=codec.loads(data))
            for seq, kind, about, at, data in self._db.execute(EVENTS, (after, limit))
        ]

    def tokens(self) -> list[Token]:
        """Every token."""
        rows = self._db.execute("SELECT name, role, digest, created_at FROM token ORDER BY name")
        return [
            Token(name=name, role=Role(role), digest=digest, created_at=created_at)
            for name, role, digest, created_at in rows
        ]

    def close(self) -> None:
        """Let go of the connection."""
        self._db.close()


def statement(query: Query) -> tuple[str, list[object]]:
    """The SQL and the values that answer a query; one row more than asked for tells whether there is a next page.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    if query.limit < 1:
        raise InvalidRequest(f"limit {query.limit!r} is not a positive number")
    order = _order(query)
    wheres, values, tables, by = _BEGINNINGS[order](query)
    if query.agent is not None:
        wheres.append("agent = ?")
        values.append(query.agent)
    if query.kind is not None:
        wheres.append("kind = ?")
        values.append(query.kind.value)
    where = " AND ".join(wheres) or "TRUE"
    # Every part is one of our own constants.
    sql = f"SELECT number, closed_at, {codec.COLUMNS} FROM {tables} WHERE {where} ORDER BY {by} LIMIT ?"  # noqa: S608
    return sql, [*values, query.limit + 1]


_Beginning = tuple[list[str], list[object], str, str]


def _open(query: Query) -> _Beginning:
    wheres, values = ["state = 'open'"], list[object]()
    if query.cursor is not None:
        wheres.append("number > ?")
        values.append(_position("open", query.cursor)[0])
    if query.closed_since is not None:
        wheres.append("FALSE")
    return wheres, values, "inquiry INDEXED BY inquiry_open", "number"


def _closed(query: Query) -> _Beginning:
    wheres, values = ["closed_at IS NOT NULL"], list[object]()
    if query.cursor is not None:
        number, at = _position("closed", query.cursor)
        wheres.append("(closed_at, number) < (?, ?)")
        values += [at, number]
    if query.closed_since is not None:
        wheres.append("closed_at >= ?")
        values.append(query.closed_since)
    if query.state not in {None, "closed"}:
        wheres.append("state = ?")
        values.append(query.state)
    return wheres, values, "inquiry INDEXED BY inquiry_closed", "closed_at DESC, number DESC"


def _asked(query: Query) -> _Beginning:
    wheres, values = list[str](), list[object]()
    if query.cursor is not None:
        wheres.append("number < ?")
        values.append(_position("asked", query.cursor)[0])
    tables = "inquiry NOT INDEXED" if query.agent is None else "inquiry INDEXED BY inquiry_agent"
    return wheres, values, tables, "number DESC"


_BEGINNINGS = {"open": _open, "closed": _closed, "asked": _asked}


def _order(query: Query) -> str:
    if query.state is None:
        return "asked" if query.closed_since is None else "closed"
    if query.state == "open":
        return "open"
    if query.state == "closed" or query.state in STATE_NAMES.values():
        return "closed"
    states = ", ".join([*STATE_NAMES.values(), "closed"])
    raise InvalidRequest(f"there is no state {query.state!r}", hint=f"it is one of {states}")


def _cursor(order: str, number: int, closed_at: float | None) -> str:
    return f"{order}-{number}" if order != "closed" else f"{order}-{number}-{closed_at!r}"


def _position(order: str, cursor: str) -> tuple[int, float]:
    try:
        begins, number, *at = cursor.split("-", 2)
        position = int(number), float(at[0]) if at else 0.0
    except ValueError:
        begins, position = "", (0, 0.0)
    if begins != order or not 0 < position[0] < 2**63 or not math.isfinite(position[1]):
        raise InvalidRequest(
            f"{cursor[:64]!r} is not a cursor of this list", hint="pass on the `next` of its previous page"
        )
    return position
