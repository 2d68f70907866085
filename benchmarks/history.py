"""Databases with a past, or with a crowd: written straight into the file, in the store's own schema and encoding."""

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.samples import DAY, an_inquiry, answered
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.refs import DIGITS, LETTERS, inquiry_id
from upcall.stores import codec
from upcall.stores.sqlite.store import SqliteStore

BATCH = 1000
_COLUMNS = codec.COLUMNS.split(", ")
_ID, _REF = _COLUMNS.index("id"), _COLUMNS.index("ref")
_INSERT = f"INSERT INTO inquiry ({codec.COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_APPEND = "INSERT INTO event (type, inquiry, at, data) VALUES (?, ?, ?, ?)"
_FAST = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -524288;
    PRAGMA locking_mode = EXCLUSIVE;
"""
Row = tuple[object, ...]


def fill(path: Path, *, past: int = 0, recent: int = 0, still_open: int = 0) -> None:
    """Make a database of inquiries closed long ago, closed just now, and open."""
    asyncio.run(_create(path))
    now = time.time()
    refs = _refs()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(_FAST)
        # One second apart, up to two months ago, so that every ref has rested.
        for start in range(0, past, BATCH):
            _write(db, now - 60 * DAY - past + start, min(BATCH, past - start), refs, ended=True)
        _write(db, now - 120, recent, refs, ended=True)
        for start in range(0, still_open, BATCH):
            _write(db, now - 30, min(BATCH, still_open - start), refs, ended=False)
        db.execute("PRAGMA journal_mode = DELETE").fetchall()


async def _create(path: Path) -> None:
    await (await SqliteStore.open(path)).close()


def _write(db: sqlite3.Connection, at: float, count: int, refs: Iterator[str], *, ended: bool) -> None:
    """A batch asked at the same second; its members differ in nothing but their names."""
    inquiry = an_inquiry(0, at)
    change = answered(inquiry) if ended else lifecycle.asked(inquiry)
    assert change is not None
    kept = replace(change.inquiry, ref="")
    row = codec.row(kept, codec.body(kept))
    happenings = [lifecycle.asked(inquiry).happening, *([change.happening] if ended else [])]
    entries = [(each.type, each.at, codec.dumps(each.data)) for each in happenings]
    names = [inquiry_id(int(at * 1000), next(_entropy)) for _ in range(count)]
    db.execute("BEGIN")
    db.executemany(_INSERT, (_named(row, name, next(refs)) for name in names))
    db.executemany(_APPEND, ((type_, name, when, data) for name in names for type_, when, data in entries))
    db.execute("COMMIT")


def _named(row: Row, name: str, ref: str) -> Row:
    values = list(row)
    values[_ID], values[_REF] = name, ref
    return tuple(values)


def _refs() -> Iterator[str]:
    """Different ones, in no order that an index would like."""
    letters = [*LETTERS, *DIGITS]
    for first, second, third, fourth in itertools.product(letters, letters, letters, DIGITS):
        for start in LETTERS:
            yield f"{start}{third}{second}{first}{fourth}"


_entropy = itertools.count(1)
