"""A SQLite store, and a PostgreSQL database, of its own for each test that wants one."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer
from tests.stores.wire_tap import WireTap
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "upcall.db"


@pytest.fixture
async def store(path: Path, clock: Clock) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def address(postgres: PostgresServer, tmp_path: Path) -> str:
    """Where an empty PostgreSQL database is."""
    return postgres.database(tmp_path)


@pytest.fixture
async def shared(address: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    """A store in that database."""
    opened = await PostgresStore.open(address, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def other(address: str, shared: PostgresStore, clock: Clock) -> AsyncIterator[PostgresStore]:
    """Another one in the same database, as another daemon would have it."""
    opened = await PostgresStore.open(address, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def tap(postgres: PostgresServer) -> AsyncIterator[WireTap]:
    """A way to the server that can be cut. Its socket needs a short name."""
    folder = Path(tempfile.mkdtemp(prefix="upcall-tap-"))
    made = WireTap(postgres, folder)
    await made.start()
    yield made
    await made.stop()
    shutil.rmtree(folder)
