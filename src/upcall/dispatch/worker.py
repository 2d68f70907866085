"""Does the jobs of one channel: brings messages up to date, shows new ones, reminds people; in that order, one at a time.

Every channel has a worker of its own, so one that hangs holds up no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from upcall.dispatch import messages
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.health import Health
from upcall.dispatch.messages import Messages, TakenOver
from upcall.dispatch.outage import PAUSES, Hurry
from upcall.dispatch.vendor_calls import VendorCalls
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Job
from upcall.ports.background import Background
from upcall.ports.store import Store

GRACE_SECONDS = 2.0
"""How long a message that is on its way may take when the daemon stops."""

LONGEST_NAP = 30.0

Duty = Callable[[Job, Inquiry], Awaitable[None]]

log = logging.getLogger("upcall.dispatch")


class Worker:
    """One per channel and daemon."""

    def __init__(
        self,
        store: Store,
        configured: ConfiguredChannel,
        routing: CurrentRouting,
        clock: Callable[[], float],
        *,
        call_seconds: float = messages.CALL_SECONDS,
        pauses: Sequence[float] = PAUSES,
        alone: bool = True,
    ) -> None:
        self.health = Health(store, configured.name, clock, self.recover)
        self._store = store
        self._configured = configured
        self._clock = clock
        self._woken = asyncio.Event()
        # Where no other daemon can be at it, what an earlier one left unfinished is ours at once.
        self._hurry = Hurry(clock() + (messages.LEASE if alone else messages.CALL_SECONDS))
        self._calls = VendorCalls(configured.name, clock, self.health, seconds=call_seconds, pauses=pauses)
        shown = self._messages = Messages(self._calls, self._hurry, store, configured, routing, clock)
        self._stopped = asyncio.Event()
        self._working = Background(f"the worker of {configured.name}", self._turn, log)
        self._duties: dict[str, Duty] = {
            f"refresh:{configured.name}": shown.refresh,
            f"show:{configured.name}": shown.show,
            f"remind:{configured.name}": shown.remind,
        }

    def wake(self) -> None:
        """There may be something to do sooner than it seemed."""
        self._woken.set()

    def recover(self) -> None:
        """The vendor is back: do at once what was put off for no more than the longest pause."""
        self._calls.outage.over()
        self._hurry.begin(self._clock() + messages.CALL_SECONDS)
        self._woken.set()

    def start(self) -> None:
        """Begin to do what is due. A job that fails comes again when its lease ends, and the others do not wait for that."""
        self._working.start()

    async def close(self) -> None:
        """End after the job at hand, so that nothing is done twice because of an ordinary restart."""
        self._stopped.set()
        self._woken.set()
        await self._working.close(GRACE_SECONDS)

    async def _turn(self) -> None:
        self._woken.clear()
        self._hurry.look()
        if not await self._one():
            await self._nap()

    async def _one(self) -> bool:
        for kind, duty in self._duties.items():
            now = self._clock()
            # A reminder has its time; everything else is late already.
            early = 0.0 if kind.startswith("remind:") else self._hurry.early(now)
            jobs = await self._store.claim(
                [kind], runner="", now=now + early, lease=messages.LEASE - early, limit=1
            )
            for job in jobs:
                try:
                    inquiry = await self._store.get(job.subject)
                except UnknownInquiry:
                    await self._store.settle(job)
                else:
                    await self._do(duty, job, inquiry)
                    await self._rest()
                return True
        return False

    async def _do(self, duty: Duty, job: Job, inquiry: Inquiry) -> None:
        try:
            async with self._configured.showing:
                await duty(job, inquiry)
        except TakenOver:
            log.warning("%s was held up past its lease and is left to the daemon that has it by now", job.id)

    async def _rest(self) -> None:
        """Leave a channel alone for as long as it wants to be left."""
        pause, self._messages.pause = self._messages.pause, 0.0
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._stopped.wait()

    async def _nap(self) -> None:
        self._hurry.end()
        if self._stopped.is_set():
            return
        due = await self._store.next_due(list(self._duties), "")
        left = LONGEST_NAP if due is None else min(max(due - self._clock(), 0), LONGEST_NAP)
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()
