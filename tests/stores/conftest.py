"""A SQLite store of its own for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from upcall.stores.sqlite import SqliteStore
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
