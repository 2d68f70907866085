"""Which store a setting leads to, and what is said when it leads nowhere."""

import sys
from pathlib import Path

import pytest

from upcall.config.settings import Config, load
from upcall.daemon.wiring.store import database_path, open_store
from upcall.domain.errors import InvalidSetting, StorageError
from upcall.home.files import Home
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_an_address_of_postgresql_in_the_environment_opens_that_database(
    home: Home, address: str
) -> None:
    for given in (address, address.replace("postgresql://", "postgres://")):
        store = await open_store(home, load(home, {"UPCALL_DATABASE": given}))
        assert isinstance(store, PostgresStore)
        assert (await store.add(an_inquiry())).created
        await store.close()


async def test_without_an_address_there_is_the_file(home: Home) -> None:
    store = await open_store(home, Config())
    assert isinstance(store, SqliteStore)
    await store.close()


async def test_another_kind_of_database_is_refused_with_those_there_are(home: Home) -> None:
    with pytest.raises(InvalidSetting, match="'mysql'") as refused:
        await open_store(home, Config(database="mysql://host/upcall"))
    assert "postgresql://" in str(refused.value.hint)


async def test_without_its_driver_the_error_says_what_to_install(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("upcall.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    # Importing what is None fails as if it were not there.
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidSetting, match="psycopg") as refused:
        await open_store(home, Config(database="postgresql://host/upcall"))
    assert refused.value.hint == "pip install 'upcall[postgres]'"


def test_what_needs_a_file_names_the_tools_of_the_server_instead(home: Home) -> None:
    with pytest.raises(InvalidSetting, match="not a file") as refused:
        database_path(home, Config(database="postgresql://host/upcall"))
    assert "pg_restore" in str(refused.value.hint)


async def test_a_backup_is_refused_with_the_servers_own_tool(address: str, tmp_path: Path) -> None:
    store = await PostgresStore.open(address)
    with pytest.raises(StorageError, match="not a file") as refused:
        await store.backup(str(tmp_path / "copy"))
    assert "pg_dump" in str(refused.value.hint)
    await store.close()
