"""A channel that is off: what is to be shown there takes the next route, and is kept for when the channel comes on.

Where daemons share a store, another one may have the channel on. So a job is left to that daemon first, for as long as a busy
channel may put a question off; only its questions are passed on, and its messages are left alone.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from upcall.broker.broker import Broker
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.deliveries import delivery_at
from upcall.dispatch.failing import noticed
from upcall.dispatch.health import Fault
from upcall.dispatch.messages import PATIENCE
from upcall.domain.channel.delivery import record
from upcall.domain.channel.off import Off
from upcall.domain.channel.routing import Place, rested, route_of
from upcall.domain.errors import UnknownInquiry
from upcall.domain.records import NOTHING, Effects, Job
from upcall.ports.background import Background

OFF = "off"
"""The side of a channel that neither sends nor listens."""

LEASE = 30.0
LONGEST_NAP = 30.0
AGAIN = 30.0
"""Seconds after which a question that was passed on is looked at again: where the channel came on elsewhere, it is shown."""

log = logging.getLogger("upcall.dispatch")


class OffChannel:
    """One per channel that is off, and daemon. `alone` means that no other daemon is on the same store."""

    def __init__(self, broker: Broker, name: str, off: Off, routing: CurrentRouting, *, alone: bool) -> None:
        self.off = off
        self._broker = broker
        self._name = name
        self._routing = routing
        self._since = broker.now()
        self._patience = 0.0 if alone else PATIENCE
        self._woken = asyncio.Event()
        self._working = Background(f"the questions for {name}, which is off", self._turn, log)

    is_caseless = False

    async def faults(self) -> list[Fault]:
        """That it is off, and why."""
        problem, hint = self.off.problem, self.off.hint
        return [Fault(side=OFF, problem=problem, signed_out=False, since=self._since, remedy=hint)]

    def start(self) -> None:
        """Begin to pass questions on."""
        log.warning("the channel %s is off: %s", self._name, self.off.problem)
        self._working.start()

    def wake(self) -> None:
        """There may be something to do at once."""
        self._woken.set()

    async def close(self) -> None:
        """Stop; the jobs stay for the channel, or for another daemon."""
        await self._working.close()

    async def _turn(self) -> None:
        store, kind = self._broker.store, f"show:{self._name}"
        self._woken.clear()
        late = self._broker.now() - self._patience
        jobs = await store.claim([kind], runner="", now=late, lease=LEASE + self._patience, limit=20)
        for job in jobs:
            await store.settle(job, await self._passed_on(job))
        if jobs:
            return
        due = await store.next_due([kind], "")
        left = LONGEST_NAP if due is None else min(max(due - late, 0), LONGEST_NAP)
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()

    async def _passed_on(self, job: Job) -> Effects:
        """The next route, taken once; the job itself is kept, so that the channel shows what is still open when it comes on."""
        broker, now = self._broker, self._broker.now()
        try:
            inquiry = await broker.store.get(job.subject)
        except UnknownInquiry:
            return NOTHING
        if not inquiry.is_open:
            return NOTHING
        later = rested(inquiry, now)
        if later > now:
            return Effects(jobs=(replace(job, due=later),))
        again = Effects(jobs=(replace(job, attempts=job.attempts + 1, due=now + AGAIN),))
        if job.attempts:
            return again
        place = Place(channel=self._name, address=str(job.body["address"]))
        known = await delivery_at(broker.store, inquiry.id, place, now)
        delivery = replace(known, error=f"the channel is off: {self.off.problem}", busy=False, at=now)
        said = noticed("undelivered", inquiry, delivery, now)
        following = self._routing.now.take(inquiry, route_of(job) + 1, now)
        return again + Effects(records=(record(delivery),), happenings=(said,)) + following
