"""One channel of a daemon at work: its worker, its listener, and what they share. It can be stopped and replaced alone."""

import asyncio
import logging

from upcall.broker.broker import Broker
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.health import Fault, faults
from upcall.dispatch.listening import Listener
from upcall.dispatch.people import People
from upcall.dispatch.reception import Reception
from upcall.dispatch.telling import Teller
from upcall.dispatch.worker import Worker

CLOSE_WITHIN = 10.0
"""Seconds that a channel may take to let go of its connections."""

log = logging.getLogger("upcall.dispatch")


class ChannelAtWork:
    """A channel that sends and listens. With a lease it listens only while no other daemon on the same store does."""

    def __init__(
        self,
        configured: ConfiguredChannel,
        broker: Broker,
        people: People,
        routing: CurrentRouting,
        *,
        listening_lease: float | None,
    ) -> None:
        alone = listening_lease is None
        self.configured = configured
        self.worker = Worker(broker.store, configured, routing, broker.now, alone=alone)
        health = self.worker.health
        teller = Teller(broker.store, configured, broker.now, health, alone=alone)
        health.tell(teller.recover)
        self.reception = Reception(broker, people, configured, routing, health, teller)
        listener = Listener(broker.store, configured, self.reception, health, lease=listening_lease)
        self._parts: list[Worker | Teller | Listener] = [teller, listener, self.worker]
        self._store = broker.store

    @property
    def is_caseless(self) -> bool:
        """Whether capital letters make no difference in the names of its people."""
        return self.configured.channel.capabilities.caseless

    async def faults(self) -> list[Fault]:
        """What does not work about it, the oldest first."""
        return await faults(self._store, self.configured.name)

    def start(self) -> None:
        """Begin to work and to listen."""
        for part in self._parts:
            part.start()

    def wake(self) -> None:
        """There may be something to do at once."""
        self.worker.wake()

    async def close(self) -> None:
        """Stop; what is being sent is let finish for a moment, and else done again later."""
        await asyncio.gather(*(part.close() for part in self._parts))
        await closed(self.configured)


async def closed(configured: ConfiguredChannel) -> None:
    """Close a channel; one that fails or hangs does not keep the daemon."""
    try:
        async with asyncio.timeout(CLOSE_WITHIN):
            await configured.channel.close()
    except TimeoutError:
        log.warning("%s could not be closed within %g seconds", configured.name, CLOSE_WITHIN)
    except Exception:
        log.exception("%s could not be closed", configured.name)
