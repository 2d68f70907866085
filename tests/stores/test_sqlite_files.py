"""The database as a file: who may read it, and which files are refused."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from upcall.domain.errors import NewerDatabase, StorageError
from upcall.ports.store import Query
from upcall.stores.sqlite.connections import connect
from upcall.stores.sqlite.migrations import migrations
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry


@pytest.fixture
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def diary(path: Path) -> bytes:
    """Another file is where the database should be."""
    path.write_text("Dear diary, today I was not asked anything. " * 50)
    return path.read_bytes()


@pytest.fixture
def recipes(path: Path) -> bytes:
    """Where the database should be, there is another program's."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipe (name TEXT)")
    return path.read_bytes()


@pytest.fixture
def old_backup(tmp_path: Path) -> Path:
    file = tmp_path / "copy.db"
    file.write_text("an older backup")
    return file


def content(file: Path) -> bytes:
    return file.read_bytes()


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.promise("spec/184")
@pytest.mark.usefixtures("careless_umask")
async def test_only_the_owner_may_read_the_database_and_what_lies_beside_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    await store.add(an_inquiry())
    await store.backup(str(tmp_path / "copy.db"))
    assert modes(tmp_path) == dict.fromkeys(("upcall.db", "upcall.db-wal", "upcall.db-shm", "copy.db"), 0o600)
    await store.close()


async def test_a_closed_store_is_a_single_file(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    await store.add(an_inquiry())
    await store.close()
    assert list(modes(tmp_path)) == ["upcall.db"]


async def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "my data?mode=memory#1 %41.db")
    added = (await store.add(an_inquiry())).inquiry
    assert (await store.find(Query())).items == (added,)
    await store.close()
    assert list(modes(tmp_path)) == ["my data?mode=memory#1 %41.db"]


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    await (await SqliteStore.open(path)).close()
    known = migrations()[-1].number
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {known + 1}")
    before = content(path)
    with pytest.raises(NewerDatabase) as refused:
        await SqliteStore.open(path)
    assert f"version {known + 1}" in refused.value.message
    assert refused.value.hint is not None
    assert content(path) == before


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, diary: bytes) -> None:
    with pytest.raises(StorageError, match="is not an Upcall database") as refused:
        await SqliteStore.open(path)
    assert refused.value.hint is not None
    assert content(path) == diary


async def test_a_database_of_another_program_is_refused_and_left_alone(path: Path, recipes: bytes) -> None:
    with pytest.raises(StorageError, match="another program"):
        await SqliteStore.open(path)
    assert content(path) == recipes


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        await SqliteStore.open(tmp_path / "nowhere" / "upcall.db")


async def test_a_backup_does_not_overwrite_the_database_with_itself(store: SqliteStore, path: Path) -> None:
    added = (await store.add(an_inquiry())).inquiry
    with pytest.raises(StorageError, match="the database itself"):
        await store.backup(str(path))
    assert await store.get(added.ref) == added


async def test_a_backup_replaces_the_one_before(store: SqliteStore, old_backup: Path) -> None:
    added = (await store.add(an_inquiry())).inquiry
    await store.backup(str(old_backup))
    opened = await SqliteStore.open(old_backup)
    assert await opened.get(added.id) == added
    await opened.close()


@pytest.mark.promise("spec/3")
def test_a_commit_is_on_the_disk_before_it_is_acknowledged(path: Path) -> None:
    opened = connect(path)
    with closing(opened.writing), closing(opened.reading):
        settings = {
            name: opened.writing.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync")
        }
    full = 2
    assert settings == {
        "journal_mode": "wal",
        "synchronous": full,
        "fullfsync": 1,
        "checkpoint_fullfsync": 1,
    }


def test_the_connection_for_reading_cannot_write(path: Path) -> None:
    opened = connect(path)
    with closing(opened.writing), closing(opened.reading), pytest.raises(sqlite3.OperationalError):
        opened.reading.execute("DELETE FROM event")


def test_migrations_are_numbered_without_gaps() -> None:
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))
