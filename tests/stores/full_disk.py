"""Run with a folder that is a very small disk: fills it, makes room again and checks the database."""

import asyncio
import sys
from pathlib import Path

from tests.stores.test_sqlite_faults import fill, ids, sound
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry, answering


async def main(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(300_000))
    store = await SqliteStore.open(folder / "upcall.db")
    kept = await fill(store)
    assert kept
    assert await ids(store) == kept
    ballast.unlink()
    more = (await store.add(an_inquiry())).inquiry.id
    assert (await store.update(kept[0], answering())).applied
    await store.close()
    assert sound(folder / "upcall.db")
    store = await SqliteStore.open(folder / "upcall.db")
    assert await ids(store) == [*kept[1:], more]
    assert [event.seq for event in await store.events(0)] == list(range(1, len(kept) + 3))
    await store.close()


asyncio.run(main(Path(sys.argv[1])))
sys.stdout.write("full, sound and used again\n")
