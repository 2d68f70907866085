"""When the disk does not do what it should: a clear error, no corruption, and on it goes."""

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from upcall.domain.errors import InvalidRequest, StorageError, StorageFull
from upcall.ports.store import Query, Store
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry, answering

BIG = "x" * 20_000


async def fill(store: Store) -> list[str]:
    """Add until there is no room; the ids that were acknowledged."""
    kept: list[str] = []
    while True:
        asked = [an_inquiry(context=BIG) for _ in range(20)]
        added = await asyncio.gather(*[store.add(each) for each in asked], return_exceptions=True)
        failed = [each for each in added if isinstance(each, BaseException)]
        kept += [each.inquiry.id for each in added if not isinstance(each, BaseException)]
        if failed:
            assert {type(each) for each in failed} == {StorageFull}
            return kept


def sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))


async def ids(store: Store) -> list[str]:
    return [each.id for each in (await store.find(Query(state="open", limit=10_000))).items]


async def test_a_full_database_says_so_and_keeps_what_it_acknowledged(path: Path) -> None:
    store = await SqliteStore.open(path, max_pages=200)
    kept = await fill(store)
    assert kept
    assert await ids(store) == kept
    assert [event.inquiry for event in await store.events(0)] == kept
    await store.close()
    assert sound(path)

    roomier = await SqliteStore.open(path)
    assert await ids(roomier) == kept
    assert (await roomier.add(an_inquiry(context=BIG))).created
    await roomier.close()


async def test_those_who_still_fit_get_in_when_their_group_does_not(path: Path) -> None:
    store = await SqliteStore.open(path, max_pages=100)
    asked = [an_inquiry(context=BIG * (200 if at == 5 else 1)) for at in range(10)]
    added = await asyncio.gather(*[store.add(each) for each in asked], return_exceptions=True)
    assert [isinstance(each, StorageFull) for each in added] == [at == 5 for at in range(10)]
    assert await ids(store) == [each.id for at, each in enumerate(asked) if at != 5]
    await store.close()


async def test_the_error_names_the_place_and_the_way_out(path: Path) -> None:
    store = await SqliteStore.open(path, max_pages=50)
    with pytest.raises(StorageFull, match="no room left") as full:
        await store.add(an_inquiry(context=BIG * 100))
    assert str(path) in full.value.message
    assert full.value.hint is not None
    await store.close()


def test_a_full_disk_is_survived_and_used_again_once_there_is_room(tmp_path: Path) -> None:
    """On a real one, a megabyte of memory mounted for a process of its own."""
    inside = [sys.executable, "-m", "tests.stores.full_disk", str(tmp_path)]
    script = f'mount -t tmpfs -o size=1m none "{tmp_path}" && exec "$@"'
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        # Many containers forbid it, and no package could be installed to change that.
        pytest.skip("this system does not let a test mount anything")
    done = subprocess.run(
        [*alone, "sh", "-c", script, "sh", *inside], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "full, sound and used again\n"


@contextmanager
def files_no_bigger_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_failed_write_is_an_error_of_ours_and_the_next_one_works(
    store: SqliteStore, path: Path
) -> None:
    before = (await store.add(an_inquiry())).inquiry.id
    with files_no_bigger_than(path.with_name("upcall.db-wal").stat().st_size + 8192):
        failed = await asyncio.gather(
            *[store.add(an_inquiry(context=BIG)) for _ in range(5)], return_exceptions=True
        )
    assert {type(each) for each in failed} == {StorageError}
    assert await ids(store) == [before]
    after = (await store.add(an_inquiry(context=BIG))).inquiry.id
    assert await ids(store) == [before, after]


async def test_what_another_program_wrote_is_seen_by_the_next_decision(
    store: SqliteStore, path: Path
) -> None:
    added = (await store.add(an_inquiry())).inquiry
    other = await SqliteStore.open(path)
    await other.update(added.id, answering("Red", by="ben"))
    await other.close()
    done = await store.update(added.id, answering("Blue", by="ana"))
    assert not done.applied
    assert done.inquiry.state_name == "answered"
    assert (await store.add(an_inquiry())).created
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT group_concat(seq) FROM event").fetchone() == ("1,2,3",)


async def test_half_a_character_is_kept_in_a_text_but_names_nothing(store: SqliteStore) -> None:
    half = "\ud83d"
    added = (await store.add(an_inquiry(context=half))).inquiry
    assert (await store.find(Query())).items == (added,)
    with pytest.raises(InvalidRequest):
        await store.add(an_inquiry(request_key=half))
    with pytest.raises(InvalidRequest):
        await store.find(Query(agent=half))
