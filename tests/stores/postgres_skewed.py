"""Run with a database's address and a number of seconds: a daemon on a machine with a clock that is wrong by so much.

It says what it believes to be overdue and the time it gives its question, then how that ended.
"""

import asyncio
import sys
import time

from upcall.broker.broker import Broker
from upcall.domain.inquiry.asking import draft
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import an_origin


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(address: str, wrong_by: float) -> None:
    right = time.time
    time.time = lambda: right() + wrong_by
    store = await PostgresStore.open(address)
    broker = Broker(store)
    await broker.start()
    say("overdue", *await store.due(broker.now(), 10))
    inquiry = (await broker.ask(draft({"question": "Which cache?", "ttl": 60}), an_origin())).inquiry
    say(inquiry.id)
    say((await broker.wait(inquiry)).state_name)
    await broker.close()
    await store.close()


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
