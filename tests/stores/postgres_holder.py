"""Run with a database's address: claims a job, says so, and when it is told to go on says whether it still had it."""

import asyncio
import sys

from upcall.domain.records import Effects
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.store_ledger import LEASE, a_record


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(address: str) -> None:
    store = await PostgresStore.open(address)
    (job,) = await store.claim(["resume"], runner="", now=store.now(), lease=LEASE, limit=1)
    say("claimed")
    await asyncio.to_thread(sys.stdin.readline)
    renewed = await store.renew(job, store.now() + LEASE)
    settled = await store.settle(job, Effects(records=(a_record(state="done twice"),)))
    say(renewed, settled)
    await store.close()


asyncio.run(main(sys.argv[1]))
