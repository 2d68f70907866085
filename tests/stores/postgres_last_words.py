"""Run with a database's address and an inquiry's id: answers it and dies, as soon as the answer is kept."""

import asyncio
import os
import signal
import sys
import time

from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import answering


async def main(address: str, name: str) -> None:
    store = await PostgresStore.open(address)
    await store.update(name, answering("Redis", at=time.time()))
    os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main(*sys.argv[1:]))
