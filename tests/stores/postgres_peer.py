"""Run with a database's address: a broker of its own that asks under the key `call-1`, waits, and says both."""

import asyncio
import sys

from upcall.broker.broker import Broker
from upcall.domain.inquiry.asking import draft
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import an_origin


async def main(address: str) -> None:
    store = await PostgresStore.open(address)
    broker = Broker(store)
    await broker.start()
    question = draft({"question": "Which cache?", "options": ["Redis", "Memcached"]})
    inquiry = (await broker.ask(question, an_origin(request_key="call-1"))).inquiry
    sys.stdout.write(f"{inquiry.id}\n")
    sys.stdout.flush()
    settled = await broker.wait(inquiry)
    sys.stdout.write(f"{settled.state}\n")
    await broker.close()
    await store.close()


asyncio.run(main(sys.argv[1]))
