"""Moves everything from a SQLite database into an empty PostgreSQL database, and proves that it arrived.

All of it is one transaction: an interruption leaves the target as it was, and the move can be started again. What was
read and what can be read back are counted and hashed before the commit. The source is copied first and never touched.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Error
from psycopg.sql import SQL, Composed, Identifier

from upcall.domain.errors import StorageError
from upcall.stores import codec
from upcall.stores.postgres import statements
from upcall.stores.postgres.connection import Connection
from upcall.stores.postgres.connector import Connector
from upcall.stores.postgres.errors import storage_error
from upcall.stores.postgres.rows import keep, plain
from upcall.stores.postgres.schema import migrate
from upcall.stores.sqlite.backup import copy
from upcall.stores.sqlite.connections import connect
from upcall.stores.sqlite.reads import last_number, last_seq

AT_ONCE = 500
_OWN = {"fence", "sqlite_sequence", "thread_item"}
"""Tables of SQLite with another form in PostgreSQL."""

_FOUND_AGAIN = "inquiry_words"
"""Prefix of the tables that are not moved: the next search fills them again."""

Row = tuple[Any, ...]


class _Table(NamedTuple):
    """A table that both have. `texts` are the columns that callers wrote, which may hold any character."""

    name: str
    columns: tuple[str, ...]
    texts: frozenset[str]


_TABLES = (
    _Table(
        "inquiry",
        ("number", *codec.COLUMNS.split(", ")),
        frozenset({"id", "agent", "session", "purpose", "request_key"}),
    ),
    _Table("attachment", ("inquiry", "position", "content"), frozenset({"inquiry"})),
    _Table("event", ("seq", "type", "inquiry", "at", "data"), frozenset({"inquiry"})),
    _Table("token", ("name", "role", "digest", "created_at"), frozenset({"name"})),
    _Table("record", ("kind", "key", "state", "at", "body"), frozenset({"kind", "key", "state"})),
    _Table(
        "job",
        ("id", "kind", "subject", "runner", "due", "fence", "attempts", "body"),
        frozenset({"id", "kind", "subject", "runner"}),
    ),
)


@dataclass(frozen=True, slots=True)
class Moved:
    """The number of rows of each table now, and whether they were there before."""

    counts: Mapping[str, int]
    already: bool


class _Sum:
    """The number of rows, and a checksum that does not depend on their order."""

    def __init__(self) -> None:
        self.count = 0
        self.digest = 0

    def add(self, row: Row) -> None:
        """Add a row."""
        self.count += 1
        number = int.from_bytes(sha256(repr(row).encode("utf-8", "surrogatepass")).digest(), "big")
        self.digest = (self.digest + number) % 2**256

    def value(self) -> tuple[int, int]:
        """The value by which two sums are compared."""
        return self.count, self.digest


async def move(source: Path, address: str) -> Moved:
    """Put everything that is in the database file `source` into the PostgreSQL database at `address`.

    Raises:
        InvalidSetting: if it is not an address.
        StorageError: if either cannot be used, or the target has other things in it; then it is as it was.
    """
    connector = Connector(address)
    with tempfile.TemporaryDirectory(prefix="upcall-") as folder:
        copied = Path(folder) / "upcall.db"
        await asyncio.to_thread(copy, source, copied)
        # Brings the copy up to date, if an older version wrote it.
        opened = await asyncio.to_thread(connect, copied)
        opened.writing.close()
        with closing(opened.reading) as db:
            connection = await connector.connect()
            try:
                await migrate(connection)
                return await _into(connection, db)
            except Error as error:
                raise storage_error(error, connector.where) from error
            finally:
                await asyncio.shield(connection.close())


async def _into(connection: Connection, db: sqlite3.Connection) -> Moved:
    _refuse_unknown_tables(db)
    async with connection.transaction():
        # The lock of all writers.
        await connection.execute(statements.COUNTER)
        wanted = {table.name: _sum(_read(db, table)) for table in _TABLES}
        there = {table.name: await _sum_of(connection, table) for table in _TABLES}
        counts = {name: count for name, (count, _) in wanted.items()}
        if there == wanted and any(counts.values()):
            return Moved(counts, already=True)
        if any(count for count, _ in there.values()):
            raise StorageError(
                "the target has things in it that are not in the source",
                hint="move into an empty database, before any daemon uses it",
            )
        for table in _TABLES:
            await _write(connection, table, _read(db, table))
            if await _sum_of(connection, table) != wanted[table.name]:
                raise StorageError(f"what was read back of {table.name} is not what was written")
        await connection.execute(
            "UPDATE upcall.counter SET last_seq = %s, last_number = %s", (last_seq(db), last_number(db))
        )
        (fence,) = db.execute("SELECT last FROM fence").fetchone()
        await connection.execute("SELECT setval('upcall.fence', %s)", (max(fence, 1),))
    return Moved(counts, already=False)


def _refuse_unknown_tables(db: sqlite3.Connection) -> None:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    known = _OWN | {table.name for table in _TABLES}
    unknown = {name for name in there - known if not name.startswith(_FOUND_AGAIN)}
    if unknown:
        raise StorageError(
            f"the source has tables that this version cannot move: {', '.join(sorted(unknown))}"
        )


def _read(db: sqlite3.Connection, table: _Table) -> Iterable[Row]:
    # Names of ours.
    yield from db.execute(f"SELECT {', '.join(table.columns)} FROM {table.name}")  # noqa: S608 - see above


def _sum(rows: Iterable[Row]) -> tuple[int, int]:
    made = _Sum()
    for row in rows:
        made.add(row)
    return made.value()


async def _sum_of(connection: Connection, table: _Table) -> tuple[int, int]:
    made = _Sum()
    async for row in _read_back(connection, table):
        made.add(row)
    return made.value()


async def _read_back(connection: Connection, table: _Table) -> AsyncIterator[Row]:
    sql = SQL("SELECT {} FROM {}").format(_names(table.columns), Identifier("upcall", table.name))
    async with connection.cursor("moved") as cursor:
        cursor.itersize = AT_ONCE
        await cursor.execute(sql)
        async for row in cursor:
            yield tuple(
                plain(value) if name in table.texts and value is not None else value
                for name, value in zip(table.columns, row, strict=True)
            )


async def _write(connection: Connection, table: _Table, rows: Iterable[Row]) -> None:
    sql = SQL("COPY {} ({}) FROM STDIN").format(Identifier("upcall", table.name), _names(table.columns))
    async with connection.cursor() as cursor, cursor.copy(sql) as copying:
        for row in rows:
            await copying.write_row(
                [
                    keep(value) if name in table.texts and value is not None else value
                    for name, value in zip(table.columns, row, strict=True)
                ]
            )


def _names(columns: Sequence[str]) -> Composed:
    return SQL(", ").join([Identifier(name) for name in columns])
