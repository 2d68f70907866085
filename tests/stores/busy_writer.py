"""Run with a database's path or address: asks and answers as fast as it can, and says so only once it is kept."""

import asyncio
import sys
from uuid import uuid4

from upcall.ports.store import Store
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry, answering


async def main(place: str) -> None:
    store: Store = await (PostgresStore if "://" in place else SqliteStore).open(place)

    async def work() -> None:
        while True:
            asked = an_inquiry(id=uuid4().hex)
            await store.add(asked)
            sys.stdout.write(f"asked {asked.id}\n")
            await store.update(asked.id, answering())
            sys.stdout.write(f"answered {asked.id}\n")
            sys.stdout.flush()

    await asyncio.gather(*[work() for _ in range(32)])


asyncio.run(main(sys.argv[1]))
