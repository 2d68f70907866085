"""The heartbeat of a daemon on a shared store, and the end of the questions of a daemon that is dead.

Each daemon has a job, and puts it off with every beat. The job of a dead daemon falls due: another one claims it, and ends
what the dead one had asked. A daemon that was only halted loses its job, and learns of it with its next beat.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Change, Closing
from upcall.domain.records import NOTHING, Effects, Job, Record
from upcall.ports.background import Background, each_alone
from upcall.ports.paging import each_page
from upcall.ports.store import Decide, Page, Query, Revise, Store, Updated

LEASE = 15.0
"""Seconds after which a daemon that is not heard of counts as dead."""
LOOK_EVERY = 1.0
AT_ONCE = 200
JOB = "presence"
ASKED = "asked_through"
"""The kind of the records that tell through which daemon an open inquiry was asked."""

Update = Callable[[str, Decide], Awaitable[Updated]]
"""Takes a step of an inquiry, with everything that follows from it."""

log = logging.getLogger("upcall.presence")


class Heartbeat:
    """Of one daemon. `installation` is what stays of it when it is started again, and tells it from all others."""

    def __init__(
        self, store: Store, update: Update, installation: str, on_restart: str, *, lease: float = LEASE
    ) -> None:
        self._store = store
        self._update = update
        self._installation = installation
        self._on_restart = on_restart
        self._lease = lease
        self._name = ""
        self._job: Job | None = None
        self._look_every = min(LOOK_EVERY, lease / 3)
        self._stay_at = 0.0
        # A longer pause after a failure would outlast the lease, and others would end what was asked here.
        self._looking = Background(
            "looking which daemons are alive", self._turn, log, pauses=(self._look_every,)
        )

    async def start(self) -> None:
        """Be there from now on."""
        await self.arrive()
        self._looking.start()

    async def arrive(self) -> None:
        """Say that we are there, and end what this installation's last daemon had asked."""
        # Only one daemon of an installation can be alive, and that is us.
        await self._store.hasten(JOB, self._installation, self._store.now())
        await self._appear()
        await self._bury_the_dead()

    async def beat(self) -> None:
        """Say that we are still there, and end what the dead had asked."""
        await self._stay()
        await self._bury_the_dead()

    async def close(self) -> None:
        """Stop; the next daemon that looks ends what was asked here."""
        await self._looking.close()
        if self._job is not None:
            try:
                await self._store.renew(self._job, self._store.now())
            except StorageError as error:
                log.warning("could not say that this daemon ends: %s", error.message)

    def follow_up(self, change: Change) -> Effects:
        """What is written with a step of an inquiry: through whom it was asked, for as long as it is open."""
        inquiry = change.inquiry
        if not self._name:
            return NOTHING
        if not inquiry.is_open:
            return Effects(forgotten=((ASKED, inquiry.id),))
        if change.happening.type != "asked":
            return NOTHING
        record = Record(kind=ASKED, key=inquiry.id, state=self._name, at=inquiry.asked_at)
        return Effects(records=(record,))

    async def _appear(self) -> None:
        if self._on_restart == "keep":
            return
        name = uuid4().hex
        due = self._store.now() + self._lease
        body = {"on_restart": self._on_restart}
        job = Job(id=f"{JOB}:{name}", kind=JOB, subject=self._installation, due=due, body=body)
        await self._store.revise(JOB, name, _writing(Effects(jobs=(job,))))
        for known in await self._store.jobs(JOB, self._installation):
            if known.id == job.id:
                self._name, self._job = name, known
                # The store knows then that it is ours, and makes it due as soon as it knows that we are dead.
                await self._store.renew(known, due)

    async def _turn(self) -> None:
        """Look for the dead more often than we say that we are there, which is a write, and which comes first."""
        await asyncio.sleep(self._look_every)
        now = asyncio.get_running_loop().time()
        if now >= self._stay_at:
            await self._stay()
            self._stay_at = now + self._lease / 3
        await self._bury_the_dead()

    async def _stay(self) -> None:
        if self._job is not None and not await self._store.renew(self._job, self._store.now() + self._lease):
            log.warning(
                "this daemon was not heard of for %.0f seconds; its questions were ended", self._lease
            )
            former = self._name
            await self._appear()
            # What was asked since it woke counts as the new one's.
            for record in (await self._store.records(ASKED, state=former, limit=AT_ONCE)).items:
                await self._store.revise(ASKED, record.key, self._adopt)

    def _adopt(self, record: Record | None) -> Effects | None:
        return None if record is None else Effects(records=(replace(record, state=self._name),))

    async def _bury_the_dead(self) -> None:
        due = await self._store.next_due([JOB], "")
        while due is not None and due <= self._store.now():
            now = self._store.now()
            dead = await self._store.claim([JOB], runner="", now=now, lease=self._lease, limit=1)
            if not dead:
                return
            await self._bury_alone(dead[0])
            due = await self._store.next_due([JOB], "")

    async def _bury_alone(self, job: Job) -> None:
        """A job that cannot be read holds up no other; it comes again when its lease ends."""
        try:
            await self._bury(job)
        except StorageError:
            raise
        except Exception:
            log.exception("cannot end what was asked through the daemon of %s", job.id)

    async def _bury(self, job: Job) -> None:
        end = lifecycle.cancel if job.body["on_restart"] == "cancel" else lifecycle.fail
        closing = Closing(by=lifecycle.POLICY, via="restart", at=self._store.now(), reason="worker_restart")
        name, ended = job.id.removeprefix(f"{JOB}:"), 0
        while page := (await self._store.records(ASKED, state=name, limit=AT_ONCE)).items:
            # After a halt in between, another daemon may have done it, and the dead one may live again.
            if not await self._store.renew(job, self._store.now() + self._lease):
                log.warning("a daemon that is gone was left to another: ending its questions took too long")
                return
            ended += await _end_each(
                self._update, [record.key for record in page], partial(end, closing=closing)
            )
            # Also of those that were settled by a daemon that keeps no such records.
            done = Effects(forgotten=tuple((ASKED, record.key) for record in page))
            await self._store.revise(ASKED, name, _writing(done))
        if await self._store.settle(job):
            log.info("a daemon is gone; ended %s of its questions", ended)


async def end_the_past(store: Store, update: Update, on_restart: str) -> None:
    """Apply `on_restart` to what was open when the last process ended, where there is only one at a time."""
    if on_restart == "keep":
        return
    end = lifecycle.cancel if on_restart == "cancel" else lifecycle.fail
    closing = Closing(by=lifecycle.POLICY, via="restart", at=store.now(), reason="worker_restart")
    # Those first that wait for their turn, so that none of them is called up by the end of another.
    for state in ("queued", "open"):
        query = Query(state=state, limit=AT_ONCE)
        async for inquiries in each_page(partial(_found, store, query)):
            await _end_each(update, [inquiry.id for inquiry in inquiries], partial(end, closing=closing))


async def _found(store: Store, query: Query, cursor: str | None) -> Page:
    return await store.find(replace(query, cursor=cursor))


async def _end_each(update: Update, names: Sequence[str], end: Decide) -> int:
    """End inquiries; how many that were. One that is gone, or cannot be read, is no reason to leave the others open."""

    async def step(name: str) -> bool:
        try:
            return (await update(name, end)).applied
        except UnknownInquiry:
            return False

    ended = await each_alone({name: step(name) for name in names}, log, "its end")
    return sum(applied is True for applied in ended.values())


def _writing(effects: Effects) -> Revise:
    return lambda _: effects
