"""Does one channel's work: brings messages up to date, shows new ones, reminds people; in that order, one at a time.

Every channel has a worker of its own, so one that hangs holds up nobody else. Work is a job under a lease until it is
settled together with the proof of it, so whatever happens in between, somebody does it again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from upcall.dispatch.deliveries import begun, contents, deliveries_in, delivery_at, recorded, shown_with
from upcall.dispatch.failing import noticed
from upcall.dispatch.health import SENDING, Health
from upcall.dispatch.outage import PAUSES, Hurry, NotAsked, Outage
from upcall.dispatch.post import Post
from upcall.dispatch.reception import adopted
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
from upcall.domain.channel.routing import Place, Routing, refresh_job, remind_job, rested, route_of
from upcall.domain.channel.showing import Reference, View
from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import NOTHING, Effects, Happening, Job, Record
from upcall.ports.background import Background
from upcall.ports.channel import Finds, Refused, SignedOut, Unavailable
from upcall.ports.store import Store

CALL_SECONDS = 30.0
"""How long a channel may take for one thing before it counts as unavailable."""

GRACE_SECONDS = 2.0
"""How long a message that is on its way may take when the daemon stops."""

LEASE = 2 * CALL_SECONDS
LONGEST_NAP = 30.0
LONGEST_PAUSE = 60.0

PATIENCE = 60.0
"""Seconds for which a channel may put a question off in all before it counts as unavailable, and the next route is taken."""

MOST_REFRESHES = len(PAUSES) + int(7 * 24 * 3600 / PAUSES[-1])
"""For about a week in which the vendor answers to something else; after that a message that shows something old is left as it is."""

LOOKED_FOR = 7 * 24 * 3600.0
"""Seconds after its end in which a question that may have been shown, unknown to us, is looked for."""

T = TypeVar("T")

log = logging.getLogger("upcall.dispatch")


class Worker:
    """One per channel and daemon."""

    def __init__(
        self,
        store: Store,
        post: Post,
        routing: Routing,
        clock: Callable[[], float],
        *,
        call_seconds: float = CALL_SECONDS,
        pauses: Sequence[float] = PAUSES,
        alone: bool = True,
    ) -> None:
        self._store = store
        self._post = post
        self._routing = routing
        self._clock = clock
        self._call_seconds = call_seconds
        self._outage = Outage(pauses)
        self.health = Health(store, post.name, clock, self.recover)
        self._woken = asyncio.Event()
        self._pause = 0.0
        # What an earlier daemon left unfinished is ours at once, if there is no other daemon that may be at it.
        self._hurry = Hurry(clock() + (LEASE if alone else CALL_SECONDS))
        self._stopped = asyncio.Event()
        self._working = Background(f"the worker of {post.name}", self._turn, log)
        self._duties: dict[str, Callable[[Job, Inquiry], Awaitable[None]]] = {
            f"refresh:{post.name}": self._refresh,
            f"show:{post.name}": self._show,
            f"remind:{post.name}": self._remind,
        }

    def wake(self) -> None:
        """There may be something to do sooner than it seemed."""
        self._woken.set()

    def recover(self) -> None:
        """The vendor is back: do at once what was put off for no more than the longest pause."""
        self._outage.over()
        self._hurry.begin(self._clock() + CALL_SECONDS)
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
            jobs = await self._store.claim([kind], runner="", now=now + early, lease=LEASE - early, limit=1)
            for job in jobs:
                try:
                    inquiry = await self._store.get(job.subject)
                except UnknownInquiry:
                    await self._store.settle(job)
                else:
                    async with self._post.showing:
                        await duty(job, inquiry)
                    await self._rest()
                return True
        return False

    async def _rest(self) -> None:
        """Leave a channel alone for as long as it wants to be left."""
        pause, self._pause = self._pause, 0.0
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

    async def _show(self, job: Job, inquiry: Inquiry) -> None:
        place = self._place(job)
        known = await delivery_at(self._store, inquiry.id, place, self._clock())
        begun = known.begun and isinstance(self._post.channel, Finds)
        begun = begun and self._clock() < inquiry.expires_at + LOOKED_FOR
        if not begun and (known.message is not None or not inquiry.is_open):
            await self._store.settle(job)
            return
        later = self._routing.showable(inquiry, route_of(job), self._clock())
        if later > self._clock() and inquiry.is_open:
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._hurry.beyond(later)),)))
            return
        if not await self._is_ours(job):
            return
        try:
            shown = await self._bounded(partial(self._view, inquiry, place))
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
        channel, place = self._post.channel, known.place
        if isinstance(channel, Finds):
            if known.begun:
                found = await self._call(job, partial(channel.find, shown, place.address))
                found = found or await recorded(self._store, known)
                if found is not None or not is_open:
                    return found
            elif self._outage.problem(self._clock()) is None:
                await self._store.revise(KIND, key(known.inquiry, place), partial(begun, known))
        return await self._call(job, partial(channel.show, shown, place.address))

    async def _shown(self, job: Job, inquiry: Inquiry, known: Delivery, reference: Reference) -> None:
        now, route = self._clock(), route_of(job)
        two_phase = self._post.channel.capabilities.two_phase
        stage = "" if known.begun or two_phase else degrading.stage(inquiry)
        delivery = await shown_with(self._store, known, reference, stage, now)
        # It may have been settled while the message was on its way; whoever looks next will see.
        jobs = [refresh_job(inquiry.id, self._post.name, now)]
        remind_at = self._routing.reminder(inquiry, route, 0, now)
        if remind_at is not None:
            jobs.append(remind_job(inquiry.id, known.place, route, 0, remind_at))
        records = [record(delivery), message_record(delivery, reference.message)]
        if not self._post.channel.capabilities.one_way:
            records.append(waiting_record(delivery))
        effects = Effects(
            records=tuple(records),
            happenings=(self._said("shown", inquiry, delivery),),
            jobs=tuple(jobs),
        )
        if not await self._store.settle(job, effects):
            # Somebody else took the job over and shows it too: this message is one more, to be kept up to date.
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
            begun=again and known.begun and isinstance(self._post.channel, Finds),
            at=self._clock(),
        )
        effects = Effects(records=(record(delivery),))
        if not again:
            effects += self._routing.despair(inquiry, self._clock())
        if job.attempts == 0:
            # The next route need not wait for this one to come back, and is taken only once.
            effects += Effects(happenings=(self._said("undelivered", inquiry, delivery),))
            effects += self._routing.take(inquiry, route_of(job) + 1, self._clock())
        if again:
            effects += Effects(jobs=(self._later(job),))
        await self._store.settle(job, effects)

    async def _refresh(self, job: Job, inquiry: Inquiry) -> None:
        stage, again = degrading.stage(inquiry), False
        changed: list[Record] = []
        over: list[tuple[str, str]] = []
        for delivery in await deliveries_in(self._store, inquiry.id, self._post.name):
            if not inquiry.is_open:
                over.append((WAITING, key(inquiry.id, delivery.place)))
            if delivery.stage == stage or not delivery.references:
                continue
            if not await self._is_ours(job):
                return
            error = None
            try:
                shown = await self._bounded(partial(self._view, inquiry, delivery.place))
                for reference, content in contents(delivery, shown, self._post.words):
                    await self._call(job, partial(self._post.channel.refresh, reference, content))
            except Refused as problem:
                error = str(problem)
            except Unavailable as problem:
                if await self._paused(job, inquiry, problem, Effects(records=tuple(changed))):
                    return
                error = str(problem)
                again = again or job.attempts + 1 < MOST_REFRESHES
            kept = delivery.stage if error is not None and again else stage
            updated_at = self._clock() if error is None else delivery.updated_at
            changed.append(record(replace(delivery, stage=kept, updated_at=updated_at, error=error)))
        jobs = (self._later(job),) if again else ()
        await self._store.settle(job, Effects(records=tuple(changed), forgotten=tuple(over), jobs=jobs))

    async def _remind(self, job: Job, inquiry: Inquiry) -> None:
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
        if not await self._is_ours(job):
            return
        effects = NOTHING
        try:
            line = await self._bounded(partial(self._post.reminder, inquiry, place.address))
            await self._call(job, partial(self._post.channel.tell, references[0], line))
        except Refused as problem:
            log.warning("nobody in %s can be reminded of %s: %s", place.name, inquiry.ref, problem)
        except Unavailable as problem:
            if await self._paused(job, inquiry, problem):
                return
            effects = Effects(jobs=(self._later(job),))
        else:
            remind_at = self._routing.reminder(inquiry, route, sent + 1, now)
            if remind_at is not None:
                effects = Effects(jobs=(remind_job(inquiry.id, place, route, sent + 1, remind_at),))
        await self._store.settle(job, effects)

    async def _is_ours(self, job: Job) -> bool:
        """Whether a job is still ours to do. Whoever was halted, or takes long, asks the store, and has its lease renewed."""
        # A claimed job is due when its lease ends.
        if self._clock() < job.due - CALL_SECONDS:
            return True
        if await self._store.renew(job, self._clock() + LEASE):
            return True
        log.warning("%s was held up past its lease and is left to whoever has it by now", job.id)
        return False

    async def _call(self, job: Job, act: Callable[[], Awaitable[T]]) -> T:
        """Have the vendor do something. During an outage it is not even asked."""
        known = self._outage.problem(self._clock())
        if known is not None:
            raise known
        try:
            done = await self._bounded(act)
        except Unavailable as problem:
            if problem.after is None:
                self._outage.failed(job.id, problem, self._clock())
                await self.health.failed(SENDING, problem)
            raise
        self._outage.over()
        await self.health.works(SENDING)
        return done

    async def _bounded(self, act: Callable[[], Awaitable[T]]) -> T:
        """Have something done within its time. Mistakes of ours in one message stop no other."""
        try:
            async with asyncio.timeout(self._call_seconds):
                return await act()
        except (Refused, Unavailable, StorageError):
            raise
        except TimeoutError as error:
            raise Unavailable(f"no reply within {self._call_seconds:g} seconds") from error
        except Exception as error:
            log.exception("the channel %s failed", self._post.name)
            raise Refused(f"the channel failed: {type(error).__name__}") from error

    async def _view(self, inquiry: Inquiry, place: Place) -> View:
        post = self._post
        link = await post.link(inquiry, place.address)
        try:
            return degrading.view(inquiry, post.channel.capabilities, post.words, link)
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
        self._pause = min(problem.after, LONGEST_PAUSE)
        waited = float(str(job.body.get("waited", 0.0))) + self._pause
        if job.kind.startswith("show:") and waited > PATIENCE:
            return False
        # A claimed job is due when its lease ends; its place among the others is that of its question.
        put_back = replace(job, due=inquiry.asked_at, body={**job.body, "waited": waited})
        await self._store.settle(job, effects + Effects(jobs=(put_back,)))
        return True

    def _place(self, job: Job) -> Place:
        return Place(channel=self._post.name, address=str(job.body["address"]))

    def _later(self, job: Job) -> Job:
        # What has to wait is not claimed early, or it would not wait at all.
        self._hurry.end()
        now = self._clock()
        due = self._outage.put_off(job.attempts, now)
        # An outage does not wear a job out, but the job is not new any more either.
        outage = self._outage.problem(now) is not None
        return replace(job, attempts=max(job.attempts, 1) if outage else job.attempts + 1, due=due)

    def _said(self, event: str, inquiry: Inquiry, delivery: Delivery) -> Happening:
        return noticed(event, inquiry, delivery, self._clock())
