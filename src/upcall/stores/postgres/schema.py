"""Brings a PostgreSQL database to the version that this code knows: numbered `.sql` files, all in one transaction.

Everything lives in a schema of its own, `upcall`, so a database may be shared with other programs.
"""

from importlib.resources import files
from typing import Any, LiteralString, NamedTuple

from upcall.domain.errors import NewerDatabase, StorageError
from upcall.stores.postgres.connection import Connection

LOCK = 0x5550434C
"""The advisory lock of a migration: "UPCL"."""


class Migration(NamedTuple):
    """A step from one version to the next."""

    number: int
    sql: bytes


def migrations() -> list[Migration]:
    """Every step there is, in order."""
    found = [
        Migration(int(file.name[:4]), file.read_bytes())
        for file in files("upcall.stores").joinpath("sql", "postgres").iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found)


async def migrate(connection: Connection) -> int:
    """Apply what is missing, one daemon at a time, and return the number of the latest event.

    Raises:
        NewerDatabase: if a later version of Upcall has written it.
        StorageError: if another program made the schema, or the database cannot keep every text.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        await _refuse_other_encodings(connection)
        version = await _version(connection)
        known = migrations()
        if version > known[-1].number:
            raise NewerDatabase(
                f"the database has version {version}, and this Upcall knows versions up to {known[-1].number}",
                hint="install the latest Upcall, or use a database of this one",
            )
        for number, sql in known:
            if number > version:
                await connection.execute(sql)
                await connection.execute("UPDATE upcall.version SET number = %s", (number,))
        # A writer that was killed could not remove its own row.
        await connection.execute("DELETE FROM upcall.writer WHERE at < now() - interval '1 day'")
        found = await connection.execute("SELECT last_seq FROM upcall.counter")
        row = await found.fetchone()
        assert row is not None
        last: int = row[0]
        return last


async def _refuse_other_encodings(connection: Connection) -> None:
    (encoding,) = await _row(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageError(
            f"the database has the encoding {encoding}, which cannot keep every text",
            hint="make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )


async def _version(connection: Connection) -> int:
    """The version of the schema, which is made if there is none."""
    if (await _row(connection, "SELECT to_regclass('upcall.version') IS NOT NULL"))[0]:
        number: int = (await _row(connection, "SELECT number FROM upcall.version"))[0]
        return number
    exists, used = await _row(
        connection,
        """
        SELECT to_regnamespace('upcall') IS NOT NULL,
               EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('upcall'))
        """,
    )
    if used:
        raise StorageError(
            "this database has a schema 'upcall' of another program",
            hint="name another database for Upcall's data",
        )
    if not exists:
        await connection.execute("CREATE SCHEMA upcall")
    await connection.execute("CREATE TABLE upcall.version (number INTEGER NOT NULL)")
    await connection.execute("INSERT INTO upcall.version VALUES (0)")
    return 0


async def _row(connection: Connection, sql: LiteralString) -> tuple[Any, ...]:
    row = await (await connection.execute(sql)).fetchone()
    assert row is not None
    return row
