"""The messages of one channel: shows inquiries, brings messages up to date, reminds people; each is a job.

A job is under a lease until it is settled together with the proof of it, so after a crash it is done again.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.deliveries import (
    begun,
    contents,
    deliveries_in,
    delivery_at,
    overwritten,
    recorded,
    shown_with,
)
from upcall.dispatch.failing import incomplete, noticed
from upcall.dispatch.outage import PAUSES, Hurry, NotAsked
from upcall.dispatch.reception import adopted
from upcall.dispatch.vendor_calls import VendorCalls
from upcall.domain.channel import degrading
from upcall.domain.channel.delivery import (
    KIND,
    WAITING,
    Delivery,
    delivery_in,
    key,
    message_record,
    record,
    waiting_record,
)
from upcall.domain.channel.routing import Place, refresh_job, remind_job, rested, route_of
from upcall.domain.channel.showing import Reference, View
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import NOTHING, Effects, Happening, Job
from upcall.ports.channel import Finds, Refused, SignedOut, Unavailable
from upcall.ports.store import Store

CALL_SECONDS = 30.0
"""How long a channel may take for one thing before it counts as unavailable."""

LEASE = 3 * CALL_SECONDS
LONGEST_PAUSE = 60.0

PATIENCE = 60.0
"""Seconds for which a channel may put a question off in all before it counts as unavailable, and the next route is taken."""

MOST_REFRESHES = len(PAUSES) + int(7 * 24 * 3600 / PAUSES[-1])
"""For about a week in which the vendor answers to something else; after that a message that shows something old is left as it is."""

LOOKED_FOR = 7 * 24 * 3600.0
"""Seconds after its end in which a question that may have been shown, unknown to us, is looked for."""

T = TypeVar("T")

log = logging.getLogger("upcall.dispatch")


class TakenOver(Exception):
    """A job's lease ended while this daemon was held up, and another daemon has it by now."""


class Messages:
    """Of one channel at one daemon. `pause` is for how many seconds the channel wants to be left alone."""

    def __init__(
        self,
        calls: VendorCalls,
        hurry: Hurry,
        store: Store,
        configured: ConfiguredChannel,
        routing: CurrentRouting,
        clock: Callable[[], float],
    ) -> None:
        self._calls = calls
        self._hurry = hurry
        self._store = store
        self._configured = configured
        self._routing = routing
        self._clock = clock
        self.pause = 0.0

    async def show(self, job: Job, inquiry: Inquiry) -> None:
        """Show an inquiry in the place of a job. Raises as `_fence` does."""
        place = self._place(job)
        known = await delivery_at(self._store, inquiry.id, place, self._clock())
        begun = known.begun and isinstance(self._configured.channel, Finds)
        begun = begun and self._clock() < inquiry.expires_at + LOOKED_FOR
        if not begun and (known.message is not None or not inquiry.is_open):
            await self._store.settle(job)
            return
        later = self._routing.now.showable(inquiry, route_of(job), self._clock())
        if later > self._clock() and inquiry.is_open:
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._hurry.beyond(later)),)))
            return
        await self._fence(job)
        try:
            shown = await self._calls.bounded(partial(self._view, inquiry, place))
            reference = await self._sent(job, known, shown, is_open=inquiry.is_open)
        except Refused as problem:
            await self._undelivered(job, inquiry, known, str(problem), again=False)
        except Unavailable as problem:
            busy = Effects(records=(record(replace(known, error=str(problem), busy=True)),))
            if not await self._paused(job, inquiry, problem, busy):
                # What the vendor has got may have arrived all the same.
                may_be_there = known.begun or not isinstance(problem, NotAsked | SignedOut)
                known = replace(known, begun=may_be_there)
                await self._undelivered(job, inquiry, known, str(problem), again=True)
        else:
            if reference is None:
                await self._store.settle(job)
            else:
                await self._shown(job, inquiry, known, reference)

    async def _sent(self, job: Job, known: Delivery, shown: View, *, is_open: bool) -> Reference | None:
        """Send a message, unless it is there already because a daemon was killed before it could keep that.

        None for an inquiry that is over by now, and that was never shown.
        """
        channel, place = self._configured.channel, known.place
        if isinstance(channel, Finds):
            if known.begun:
                found = await self._call(job, partial(channel.find, shown, place.address))
                found = found or await recorded(self._store, known)
                if found is not None or not is_open:
                    return found
            elif self._calls.outage.problem(self._clock()) is None:
                await self._store.revise(KIND, key(known.inquiry, place), partial(begun, known))
        return await self._call(job, partial(channel.show, shown, place.address))

    async def _shown(self, job: Job, inquiry: Inquiry, known: Delivery, reference: Reference) -> None:
        now, route = self._clock(), route_of(job)
        two_phase = self._configured.channel.capabilities.two_phase
        stage = "" if known.begun or two_phase else degrading.stage(inquiry)
        delivery = await shown_with(self._store, known, reference, stage, now)
        # It may have been settled while the message was on its way: the refresh finds out.
        jobs = [refresh_job(inquiry.id, self._configured.name, now)]
        remind_at = self._routing.now.reminder(inquiry, route, 0, now)
        if remind_at is not None:
            jobs.append(remind_job(inquiry.id, known.place, route, 0, remind_at))
        records = [record(delivery), message_record(delivery, reference.message)]
        if not self._configured.channel.capabilities.one_way:
            records.append(waiting_record(delivery))
        effects = Effects(
            records=tuple(records),
            happenings=(self._said("shown", inquiry, delivery),) if reference.is_certain else (),
            jobs=tuple(jobs),
        )
        if not await self._store.settle(job, effects):
            # Another daemon took the job over and shows it too: this message is one more, to be kept up to date.
            await self._store.revise(
                KIND,
                key(inquiry.id, known.place),
                lambda kept: adopted(known if kept is None else delivery_in(kept), reference.message, now),
            )

    async def _undelivered(
        self, job: Job, inquiry: Inquiry, known: Delivery, error: str, *, again: bool
    ) -> None:
        log.warning("%s cannot be shown in %s: %s", inquiry.ref, known.place.name, error)
        delivery = replace(
            known,
            error=error,
            refused=not again,
            busy=False,
            begun=again and known.begun and isinstance(self._configured.channel, Finds),
            at=self._clock(),
        )
        effects = Effects(records=(record(delivery),))
        if not again:
            effects += self._routing.now.despair(inquiry, self._clock())
        if job.attempts == 0:
            # The next route need not wait for this one to come back, and is taken only once.
            effects += Effects(happenings=(self._said("undelivered", inquiry, delivery),))
            effects += self._routing.now.take(inquiry, route_of(job) + 1, self._clock())
        if again:
            effects += Effects(jobs=(self._later(job),))
        await self._store.settle(job, effects)

    async def refresh(self, job: Job, inquiry: Inquiry) -> None:
        """Bring every message about an inquiry up to date. Raises as `_fence` does."""
        stage, again = degrading.stage(inquiry), False
        effects = NOTHING
        over: list[tuple[str, str]] = []
        for delivery in await deliveries_in(self._store, inquiry.id, self._configured.name):
            if not inquiry.is_open:
                over.append((WAITING, key(inquiry.id, delivery.place)))
            if delivery.stage == stage or not delivery.references:
                continue
            error = None
            try:
                shown = await self._calls.bounded(partial(self._view, inquiry, delivery.place))
                await self._bring_up(job, delivery, shown)
            except Refused as problem:
                error = str(problem)
                if self._is_announced(delivery) and inquiry.is_open:
                    effects += incomplete(self._routing.now, inquiry, delivery, error, self._clock())
                    continue
            except Unavailable as problem:
                if await self._paused(job, inquiry, problem, effects):
                    return
                error = str(problem)
                again = again or job.attempts + 1 < MOST_REFRESHES
            kept = delivery.stage if error is not None and again else stage
            updated_at = self._clock() if error is None else delivery.updated_at
            fresh = replace(delivery, stage=kept, updated_at=updated_at, error=error)
            effects += Effects(records=(record(fresh),))
        jobs = (self._later(job),) if again else ()
        if not await self._store.settle(job, effects + Effects(forgotten=tuple(over), jobs=jobs)):
            await self._repair(inquiry.id, stage)

    async def _repair(self, name: str, sent: str) -> None:
        """Bring messages up to date once more, where a refresh that took the place of ours may have come before it.

        Each daemon has its own connection to the vendor, and a slow call of ours can overwrite what another daemon has shown
        meanwhile. What was sent is right if the inquiry has not changed since.
        """
        try:
            current = await self._store.get(name)
        except UnknownInquiry:
            return
        if degrading.stage(current) == sent:
            return
        again = Effects(jobs=(refresh_job(name, self._configured.name, self._clock()),))
        for delivery in await deliveries_in(self._store, name, self._configured.name):
            await self._store.revise(KIND, key(name, delivery.place), partial(overwritten, again))

    async def _bring_up(self, job: Job, delivery: Delivery, shown: View) -> None:
        for reference, content in contents(delivery, shown, self._configured.words):
            try:
                await self._call(job, partial(self._configured.channel.refresh, reference, content))
            except Refused as problem:
                if reference.message == delivery.message:
                    raise
                log.warning("an earlier message in %s stays as it is: %s", delivery.place.name, problem)

    def _is_announced(self, delivery: Delivery) -> bool:
        """Whether a delivery has a message with nothing to press yet."""
        return (
            self._configured.channel.capabilities.two_phase
            and delivery.message is not None
            and not delivery.stage
        )

    async def remind(self, job: Job, inquiry: Inquiry) -> None:
        """Remind the people in the place of a job. Raises as `_fence` does."""
        route, sent, now = route_of(job), int(str(job.body["sent"])), self._clock()
        place = self._place(job)
        references = (await delivery_at(self._store, inquiry.id, place, self._clock())).references
        if not inquiry.is_open or not references:
            await self._store.settle(job)
            return
        later = rested(inquiry, now)
        if later > now:
            await self._store.settle(job, Effects(jobs=(replace(job, due=later),)))
            return
        effects = NOTHING
        try:
            line = await self._calls.bounded(partial(self._configured.reminder, inquiry, place.address))
            await self._call(job, partial(self._configured.channel.tell, references[0], line))
        except Refused as problem:
            log.warning("the people in %s cannot be reminded of %s: %s", place.name, inquiry.ref, problem)
        except Unavailable as problem:
            if await self._paused(job, inquiry, problem):
                return
            effects = Effects(jobs=(self._later(job),))
        else:
            remind_at = self._routing.now.reminder(inquiry, route, sent + 1, now)
            if remind_at is not None:
                effects = Effects(jobs=(remind_job(inquiry.id, place, route, sent + 1, remind_at),))
        await self._store.settle(job, effects)

    async def _fence(self, job: Job) -> None:
        """Make sure that a job is still ours, and stays so during a call that takes its whole time.

        Another daemon may claim a job a call's time before its lease ends: after the call that much is left of it. One
        that was halted, or takes long, asks the store.

        Raises:
            TakenOver: if another daemon has it by now.
        """
        # A claimed job is due when its lease ends.
        if self._clock() < job.due - 2 * CALL_SECONDS:
            return
        if not await self._store.renew(job, self._clock() + LEASE):
            raise TakenOver(job.id)

    async def _call(self, job: Job, act: Callable[[], Awaitable[T]]) -> T:
        await self._fence(job)
        return await self._calls.call(job.id, act)

    async def _view(self, inquiry: Inquiry, place: Place) -> View:
        configured = self._configured
        link = await configured.link(inquiry, place.address)
        try:
            return degrading.view(inquiry, configured.channel.capabilities, configured.words, link)
        except degrading.TooLong as error:
            raise Refused("an approval is shown whole, and this one is too long for the channel") from error

    async def _paused(
        self, job: Job, inquiry: Inquiry, problem: Unavailable, effects: Effects = NOTHING
    ) -> bool:
        """Where a channel says when it wants to be asked again: put the job back in its place, to be first then.

        A question that was put off for too long is not: people on the next route need not wait for that.
        """
        if problem.after is None:
            return False
        self.pause = min(problem.after, LONGEST_PAUSE)
        waited = float(str(job.body.get("waited", 0.0))) + self.pause
        if job.kind.startswith("show:") and waited > PATIENCE:
            return False
        # A claimed job is due when its lease ends; its place among the others is that of its question.
        put_back = replace(job, due=inquiry.asked_at, body={**job.body, "waited": waited})
        await self._store.settle(job, effects + Effects(jobs=(put_back,)))
        return True

    def _place(self, job: Job) -> Place:
        return Place(channel=self._configured.name, address=str(job.body["address"]))

    def _later(self, job: Job) -> Job:
        # What has to wait is not claimed early, or it would not wait at all.
        self._hurry.end()
        now = self._clock()
        due = self._calls.outage.put_off(job.attempts, now)
        # An outage does not wear a job out, but the job is not new any more either.
        outage = self._calls.outage.problem(now) is not None
        return replace(job, attempts=max(job.attempts, 1) if outage else job.attempts + 1, due=due)

    def _said(self, event: str, inquiry: Inquiry, delivery: Delivery) -> Happening:
        return noticed(event, inquiry, delivery, self._clock())
