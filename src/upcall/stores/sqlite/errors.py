"""Translates errors of SQLite into `StorageError`: callers never see a `sqlite3` error."""

import shutil
import sqlite3
from pathlib import Path

from upcall.domain.errors import StorageError, StorageFull

ROOM_TO_WORK = 1024 * 1024
"""With less than this left, a failed write is put down to the disk being full."""


def storage_error(error: BaseException, path: Path) -> StorageError:
    """The error to raise for a failure of the database at `path`."""
    if isinstance(error, StorageError):
        return error
    code = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_IOERR if _free(path) < ROOM_TO_WORK:
            return _full(path)
        case sqlite3.SQLITE_NOTADB:
            return StorageError(
                f"{str(path)!r} is not an Upcall database", hint="move it away, or restore a backup over it"
            )
        case sqlite3.SQLITE_CORRUPT:
            return StorageError(
                f"the database {str(path)!r} is damaged: {error}", hint="restore the latest backup"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageError(
                f"another program keeps the database {str(path)!r} locked", hint="close it and try again"
            )
        case _:
            return StorageError(f"the database {str(path)!r} failed: {error}")


def _full(path: Path) -> StorageFull:
    return StorageFull(
        f"there is no room left for the database {str(path)!r}; nothing was changed",
        hint="free some space there and try again",
    )


def _free(path: Path) -> int:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return ROOM_TO_WORK
