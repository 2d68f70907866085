"""A consistent copy of a SQLite database while it is in use: complete and durable, or not there at all."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

from upcall.domain.errors import StorageError
from upcall.stores.sqlite.errors import storage_error


def copy(source: Path, target: Path) -> None:
    """Copy a database to `target`, replacing what is there, readable by its owner only.

    Raises:
        StorageError: if the copy cannot be made; then there is no file left behind.
    """
    if target.exists() and target.samefile(source):
        raise StorageError(f"{str(target)!r} is the database itself", hint="name another file for the copy")
    partial = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        create_private(partial)
        with closing(sqlite3.connect(source.absolute().as_uri() + "?mode=ro", uri=True)) as original:
            _fill(original, partial)
        partial.replace(target)
        sync(target.parent)
    except sqlite3.Error as error:
        raise storage_error(error, partial) from error
    except OSError as error:
        raise StorageError(
            f"cannot write {str(target)!r}: {error.strerror}",
            hint="name a file in a folder where you can write",
        ) from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def create_private(path: Path) -> None:
    """Make an empty file for its owner only; SQLite gives the files beside it the same mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a loss of power."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fill(original: sqlite3.Connection, partial: Path) -> None:
    with closing(sqlite3.connect(partial)) as duplicate:
        original.backup(duplicate)
    sync(partial)
