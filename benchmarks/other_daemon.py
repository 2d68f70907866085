"""A child process with a store of its own on the same database: it answers what it is told to, and says when it began."""

import asyncio
import sys
import time

import psycopg
import uvloop

from benchmarks.bench import PAUSE, collecting_as_the_daemon
from benchmarks.samples import answered
from upcall.broker.broker import Broker
from upcall.stores.postgres.store import PostgresStore

BARE = "bare"
# It writes something too, or there would be nothing to sync.
TELL = "WITH told AS (INSERT INTO bare VALUES ('x')) SELECT pg_notify('bare', '')"


async def main(address: str) -> None:
    """Each line of input is an inquiry to answer, or asks for a bare notification."""
    store = await PostgresStore.open(address)
    broker = Broker(store)
    await broker.start()
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as bare:
        await bare.execute("CREATE TABLE bare (word TEXT)")
        print("ready", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            await asyncio.sleep(PAUSE)
            # The clock of the whole system, so that another process can go on counting.
            began = time.perf_counter()
            if line == BARE:
                await bare.execute(TELL)
            else:
                assert (await store.update(line, answered)).applied
            print(began, flush=True)
    await broker.close()
    await store.close()


if __name__ == "__main__":
    with collecting_as_the_daemon():
        uvloop.run(main(sys.argv[1]))
