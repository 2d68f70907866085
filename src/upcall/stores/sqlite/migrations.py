"""Brings a database to the version that this code knows, one numbered `.sql` file and one transaction at a time."""

import sqlite3
from importlib.resources import files
from typing import NamedTuple

from upcall.domain.errors import NewerDatabase, StorageError

APPLICATION_ID = 0x5550434C


class Migration(NamedTuple):
    """A step from one version to the next."""

    number: int
    sql: str


def migrations() -> list[Migration]:
    """Every step there is, in order."""
    found = [
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in files("upcall.stores").joinpath("sql", "sqlite").iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found)


def refuse_unfit(db: sqlite3.Connection) -> None:
    """Make sure, without changing a byte, that this database is for us to use.

    Raises:
        NewerDatabase: if a later version of Upcall has written it.
        StorageError: if another program made it.
    """
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    tables: int = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and owner != APPLICATION_ID:
        raise StorageError(
            "this SQLite database belongs to another program", hint="name another file for Upcall's data"
        )
    version, known = _version(db), migrations()[-1].number
    if version > known:
        raise NewerDatabase(
            f"the database has version {version}, and this Upcall knows versions up to {known}",
            hint="install the latest Upcall, or restore a backup that this one has made",
        )


def migrate(db: sqlite3.Connection) -> None:
    """Apply what is missing."""
    version = _version(db)
    for number, sql in migrations():
        if number > version:
            _apply(db, number, sql)


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def _apply(db: sqlite3.Connection, number: int, sql: str) -> None:
    try:
        db.executescript(f"BEGIN IMMEDIATE;\n{sql}\nPRAGMA user_version = {number};\nCOMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
