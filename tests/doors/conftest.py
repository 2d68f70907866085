"""What the tests of the doors share."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.doors.house import House
from upcall.broker.broker import Broker
from upcall.stores.sqlite.store import SqliteStore


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A daemon that has started."""
    house = House(tmp_path / "home")
    house.start()
    yield house
    house.stop()


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """A broker on a store of its own."""
    store = await SqliteStore.open(tmp_path / "upcall.db")
    broker = Broker(store)
    await broker.start()
    yield broker
    await broker.close()
    await store.close()
