"""The store of the simulation keeps the contract of stores, so that what the simulation finds is not the store's own fault."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from typing_extensions import override

from tests.simulation.database import Database
from tests.simulation.memory_store import MemoryStore
from upcall.testing.store_contract import StoreContract


@pytest.mark.promise("proof/5")
class TestMemoryStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _databases(self) -> None:
        self.databases: dict[Path, tuple[Database, list[MemoryStore]]] = {}

    @override
    async def open_store(self, folder: Path, clock: Callable[[], float]) -> MemoryStore:
        database, peers = self.databases.setdefault(folder, (Database(clock, Random(1)), []))
        return MemoryStore.open(database, peers, f"holder {len(peers)}")
