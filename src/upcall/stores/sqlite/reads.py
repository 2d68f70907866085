"""The statements that read a SQLite database."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from upcall.domain.errors import DamagedRow, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.roles import Role, Token
from upcall.ports.store import Event, Page, Query
from upcall.stores import codec
from upcall.stores.damage import readable
from upcall.stores.listing import cursor, listing
from upcall.stores.sqlite import search
from upcall.stores.sqlite.staged import request_of

T = TypeVar("T")

# Here and below, what is put into a statement is a constant of ours; values are always bound.
_BY_ID = f"SELECT number, {codec.COLUMNS} FROM inquiry WHERE id = ?"  # noqa: S608
_BY_REF = f"""
    SELECT number, {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_ref
    WHERE ref = ? ORDER BY closed_at IS NULL DESC, number DESC LIMIT 1
"""  # noqa: S608 - our own constant; values are bound
SAME_REQUEST = f"""
    SELECT {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_request
    WHERE session = ? AND purpose = ? AND request_key = ? AND agent = ? ORDER BY number DESC LIMIT 1
"""  # noqa: S608 - our own constant; values are bound
DUE = """
    SELECT id FROM inquiry INDEXED BY inquiry_due
    WHERE state = 'open' AND expires_at <= ? ORDER BY expires_at LIMIT ?
"""
NEXT_EXPIRY = """
    SELECT expires_at FROM inquiry INDEXED BY inquiry_due WHERE state = 'open' ORDER BY expires_at LIMIT 1
"""
ITEMS_AFTER = """
    SELECT seq, type, inquiry, at, data FROM thread_item CROSS JOIN event USING (seq)
    WHERE thread = ? AND seq > ? ORDER BY thread_item.seq LIMIT ?
"""
ITEMS_BEFORE = """
    SELECT seq, type, inquiry, at, data FROM thread_item CROSS JOIN event USING (seq)
    WHERE thread = ? AND seq < ? ORDER BY thread_item.seq DESC LIMIT ?
"""
COUNT_OPEN = "SELECT count(*) FROM inquiry INDEXED BY inquiry_open WHERE state = 'open'"
COUNT_SNOOZED = """
    SELECT count(*) FROM inquiry INDEXED BY inquiry_snoozed
    WHERE state = 'open' AND CAST(substr(outcome, nullif(instr(substr(outcome, 1, 17), '{"snoozed_until":'), 0) + 17) AS REAL) > ?
"""
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

    def requested(self, origin: Origin) -> Inquiry | None:
        """The latest inquiry of a request."""
        request = request_of(origin)
        try:
            row = None if request is None else self._db.execute(SAME_REQUEST, request).fetchone()
        except UnicodeEncodeError:
            row = None  # half a surrogate pair can be sent, but never kept
        return None if row is None else codec.decode(row)

    def find(self, query: Query) -> Page:
        """A page of inquiries."""
        sql, values = statement(query)
        rows = self._db.execute(sql, values).fetchall()
        shown = rows[: query.limit]
        more = len(rows) > query.limit
        return Page(
            items=tuple(readable(shown, lambda row: codec.decode(row[2:]))),
            next=cursor(query, shown[-1][0], shown[-1][1]) if more else None,
        )

    def due(self, now: float, limit: int) -> list[str]:
        """Which open inquiries are past their time, the longest first."""
        return [name for (name,) in self._db.execute(DUE, (now, limit))]

    def next_expiry(self) -> float | None:
        """When the next open inquiry expires."""
        row = self._db.execute(NEXT_EXPIRY).fetchone()
        return None if row is None else row[0]

    def count_open(self, awake_at: float | None = None) -> int:
        """The number of open inquiries, without those that are snoozed beyond that time."""
        count: int = self._db.execute(COUNT_OPEN).fetchone()[0]
        if awake_at is not None:
            count -= self._db.execute(COUNT_SNOOZED, (awake_at,)).fetchone()[0]
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
        while rows := self._db.execute(EVENTS, (after, limit)).fetchall():
            if found := readable(rows, _event):
                return found
            after = rows[-1][0]
        return []

    def thread_items(self, thread: str, after: int, before: int | None, limit: int) -> list[Event]:
        """The items of a thread."""
        if before is None:
            while rows := self._db.execute(ITEMS_AFTER, (thread, after, limit)).fetchall():
                if found := readable(rows, _event):
                    return found
                after = rows[-1][0]
            return []
        return readable(self._db.execute(ITEMS_BEFORE, (thread, before, limit)), _event)[::-1]

    def tokens(self) -> list[Token]:
        """Every token."""
        rows = self._db.execute("SELECT name, role, digest, created_at FROM token ORDER BY name")
        return readable(rows, token_in)

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """The answer to any other question."""
        return question(self._db)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def token_in(row: Sequence[Any]) -> Token:
    """The token in a row.

    Raises:
        DamagedRow: if it holds none.
    """
    name, role, digest, created_at = row
    try:
        return Token(name=name, role=Role(role), digest=digest, created_at=created_at)
    except ValueError as error:
        raise DamagedRow(f"the token {name!r}", error) from error


def _event(row: Sequence[Any]) -> Event:
    seq, kind, about, at, data = row
    return Event(seq=seq, type=kind, inquiry=about, at=at, data=codec.event_data(seq, kind, data))


def statement(query: Query) -> tuple[str, list[object]]:
    """The SQL and the values that answer a query; one row more than asked for tells whether there is a next page.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    if query.is_search:
        return search.statement(query)
    made = listing(query)
    index = "NOT INDEXED" if made.using is None else f"INDEXED BY {made.using}"
    sql = f"""
        SELECT number, closed_at, {codec.COLUMNS} FROM inquiry {index}
        WHERE {made.where} ORDER BY {made.by} LIMIT ?
    """  # noqa: S608 - every part is one of our own constants
    return sql, [*made.values, query.limit + 1]
