"""Run with a database's address, a name and kinds: has a job of each kind under a lease of an hour, says so, and hangs.

When it is told to go on, it tries to settle them and says how many it still had.
"""

import asyncio
import json
import sys

from upcall.domain.records import Effects, Job
from upcall.stores.postgres.store import PostgresStore


def say(told: object) -> None:
    sys.stdout.write(f"{json.dumps(told)}\n")
    sys.stdout.flush()


async def main(address: str, name: str, *kinds: str) -> None:
    store = await PostgresStore.open(address)
    jobs = tuple(Job(id=f"{name}:{kind}", kind=kind, subject=name, due=0.0) for kind in kinds)
    await store.revise("claimer", name, lambda _: Effects(jobs=jobs))
    held = await store.claim(kinds, runner="", now=store.now(), lease=3600, limit=len(kinds))
    say([[job.id, job.fence] for job in held])
    await asyncio.to_thread(sys.stdin.readline)
    say(sum([await store.settle(job) for job in held]))
    await store.close()


asyncio.run(main(*sys.argv[1:]))
