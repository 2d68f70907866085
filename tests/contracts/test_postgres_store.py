"""PostgreSQL keeps the contract of stores."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typing_extensions import override

from tests.postgres_server import PostgresServer
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.store_contract import StoreContract


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: PostgresServer) -> None:
        self.server = postgres

    @override
    async def open_store(self, folder: Path, clock: Callable[[], float]) -> PostgresStore:
        return await PostgresStore.open(self.server.database(folder), clock=clock)
