"""A broker on a real store with a clock that tests move."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from upcall.broker.broker import Broker, Policy
from upcall.domain.roles import Caller, Role
from upcall.stores.sqlite.store import SqliteStore

AGENT = Caller(name="builder", role=Role.AGENT)
OTHER_AGENT = Caller(name="painter", role=Role.AGENT)
ANA = Caller(name="ana", role=Role.PERSON)
BEN = Caller(name="ben", role=Role.PERSON)
ADMIN = Caller(name="root", role=Role.ADMIN)


class Clock:
    """Wall time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The time, for tests to move."""
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[SqliteStore]:
    """A real store."""
    opened = await SqliteStore.open(tmp_path / "upcall.db", clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def broker(store: SqliteStore, clock: Clock) -> AsyncIterator[Broker]:
    """A broker at work on it."""
    started = Broker(store, Policy(), clock=clock)
    await started.start()
    yield started
    await started.close()
