"""Connects to a PostgreSQL database: its address, its connection parameters, and the pauses between attempts.

It knows no statements, and it never shows a password.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from psycopg import Error, ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from upcall.domain.errors import InvalidSetting
from upcall.stores.postgres.connection import Connection
from upcall.stores.postgres.errors import unreachable

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
# What an address leaves open. A peer that vanished without a word is noticed within seconds, not hours.
_DEFAULTS: Mapping[str, str | int] = {
    "application_name": "upcall",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}

log = logging.getLogger("upcall.postgres")


class Backoff:
    """Waits before the next attempt, longer each time."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE

    async def pause(self) -> None:
        """Wait."""
        pause, self._next = self._next, min(self._next * 2, LONGEST_PAUSE)
        await asyncio.sleep(pause)


class Connector:
    """One address. Behind a pooler that hands out a server for each transaction, nothing may be kept in a session."""

    def __init__(self, address: str, *, pooled: bool = False) -> None:
        try:
            given = conninfo_to_dict(address)
        except ProgrammingError:
            # What libpq says may quote the password.
            raise InvalidSetting(
                "database: this is not an address of a PostgreSQL database",
                hint="use postgresql://role:password@host:5432/name; special characters as %XX",
            ) from None
        self._parameters: dict[str, Any] = {**_DEFAULTS, **given, "client_encoding": "UTF8"}
        # psycopg names statements that it has sent a few times, which needs a session of our own.
        self._prepare_threshold = None if pooled else 3
        self.where = repr(_shown(given))

    async def connect(self) -> Connection:
        """A new connection, in which every statement is a transaction unless it says BEGIN.

        Raises:
            StorageError: if the database cannot be reached.
        """
        try:
            return await Connection.connect(
                **self._parameters, autocommit=True, prepare_threshold=self._prepare_threshold
            )
        except (Error, OSError) as error:
            raise unreachable(error, self.where) from error


def _shown(given: Mapping[str, Any]) -> str:
    host, port = str(given.get("host") or given.get("hostaddr") or ""), given.get("port") or "5432"
    name = given.get("dbname") or given.get("user") or ""
    if not host or host.startswith("/"):
        return f"postgresql:///{name}" + (f"?host={host}" if host else "")
    return f"postgresql://{host}:{port}/{name}"
