"""SQLite keeps the contract of stores."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typing_extensions import override

from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.store_contract import BackupContract, StoreContract


@pytest.mark.promise("spec/145")
class TestSqliteStore(StoreContract, BackupContract):
    @override
    async def open_store(self, folder: Path, clock: Callable[[], float]) -> SqliteStore:
        return await SqliteStore.open(folder / "upcall.db", clock=clock)

    @override
    def restore(self, backup: Path, folder: Path) -> None:
        backup.rename(folder / "upcall.db")
