"""Opening a SQLite database: safely, durably and only if it is ours."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from upcall.domain.errors import StorageError
from upcall.stores.sqlite.backup import create_private, sync
from upcall.stores.sqlite.errors import storage_error
from upcall.stores.sqlite.migrations import migrate, refuse_unfit
from upcall.stores.sqlite.reads import last_seq
from upcall.stores.sqlite.rows import STATEMENTS

BUSY_MS = 5000
# FULL with WAL syncs each commit; `fullfsync` is what a sync needs to mean that on macOS. Checkpoints are the
# writer's business, except that a log of 64 MiB is too long however few rows it is made of.
_WRITER_PRAGMAS = f"""
    PRAGMA busy_timeout = {BUSY_MS};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 16384;
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
"""
_READER_PRAGMAS = f"""
    PRAGMA busy_timeout = {BUSY_MS};
    PRAGMA query_only = ON;
    PRAGMA cache_size = -8192;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
"""


class Connections(NamedTuple):
    """One that writes, two that cannot, and the number of the latest event when they were opened."""

    writing: sqlite3.Connection
    reading: sqlite3.Connection
    searching: sqlite3.Connection
    last_seq: int


def connect(path: Path, max_pages: int | None = None) -> Connections:
    """Open the database at `path`, creating it or bringing it up to date as needed.

    Raises:
        NewerDatabase: if a later version of Upcall has written it.
        StorageError: if it is not ours, or cannot be opened.
    """
    opened: list[sqlite3.Connection] = []
    try:
        with suppress(FileExistsError):
            create_private(path)
            sync(path.parent)
        # Each connection is used by one thread at a time, but not by the one that made it.
        writing = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS
        )
        opened.append(writing)
        refuse_unfit(writing)
        writing.executescript(_WRITER_PRAGMAS)
        migrate(writing)
        if max_pages is not None:
            writing.execute(f"PRAGMA max_page_count = {max_pages:d}")
        uri = path.absolute().as_uri() + "?mode=ro"
        for _ in range(2):
            opened.append(sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False))
            opened[-1].executescript(_READER_PRAGMAS)
        _, reading, searching = opened
        last = last_seq(reading)
    except BaseException as error:
        for connection in opened:
            connection.close()
        if isinstance(error, sqlite3.Error):
            raise storage_error(error, path) from error
        if isinstance(error, OSError):
            raise StorageError(f"cannot open {str(path)!r}: {error.strerror}") from error
        raise
    return Connections(writing, reading, searching, last)
