"""Resumes sessions: claims the resume jobs of this machine and starts a session that has ended without its answer.

A job exists from the answer's own transaction until there is evidence that the agent has the answer. Meanwhile the worker
looks at it again and again: it leaves a live process alone, starts a dead one once, and counts attempts before it makes
them. An attempt that the end of the daemon cut off is taken back: it says nothing about the session.
"""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Protocol

from upcall.domain.errors import DamagedRow, StorageError, UpcallError
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.domain.run.api_errors import MOST_REFUSALS, waiting_for
from upcall.domain.run.program import SESSION_GONE
from upcall.domain.run.resume import GRACE, RESUME, message, needs_delivery, subject
from upcall.domain.run.run import Run, RunState
from upcall.ports.background import Background
from upcall.ports.paging import each_record
from upcall.ports.store import Revise
from upcall.runs.adoption import Adoption
from upcall.runs.book import Book, Step
from upcall.runs.deliveries import Deliveries
from upcall.runs.process.host import TurnInput
from upcall.runs.recipients import WAITING

MOST_ATTEMPTS = 3
MOST_CUT_OFF = 20
"""Attempts that end with their daemon, before a process is started. Their number has a limit: an attempt may be what ends it."""

LEASE = 60.0
LOOK_AGAIN = 30.0
"""Seconds after which a run that is alive, and may still ask for its answer, is looked at again. Its end is sooner."""

STARTED_WITHIN = 60.0
"""Seconds after which an attempt is looked at again: its daemon may have been killed before it started anything."""

PAUSES = (0.0, 5.0, 30.0)
"""Seconds before each attempt, counted from the end of the one before it."""

REUNION = 10.0
"""Seconds after a daemon's start in which pipes find it again, and no session is taken to have ended."""

LONGEST_NAP = 30.0
AT_ONCE = 20

log = logging.getLogger("upcall.runs")


class Sessions(Protocol):
    """What resuming needs of the sessions of this machine. `Supervisor` of `process/supervise.py` has it."""

    async def start(self, number: int, given: TurnInput) -> bool:
        """Start a process for a run that has none; False if it has one by now, or is to end."""
        ...

    def room(self) -> AbstractAsyncContextManager[int]:
        """How many more runs may work now; no other caller starts one while this context lasts."""
        ...

    def rested_at(self, run: Run) -> float:
        """From when on the session of a run may be resumed."""
        ...

    def is_taken(self, run: Run) -> bool:
        """Whether a person has taken over the session of a run, or a pipe speaks for it."""
        ...

    def is_connected(self, program: str, session: str) -> bool:
        """Whether a pipe speaks for a session."""
        ...


class ResumeWorker:
    """Works on the resume jobs of one machine; `template` are the owner's words for a session that gets its answer."""

    def __init__(
        self, sessions: Sessions, adoption: Adoption, deliveries: Deliveries, book: Book, *, template: str
    ) -> None:
        self._sessions = sessions
        self._adoption = adoption
        self._deliveries = deliveries
        self._book = book
        self._store = book.store
        self._clock = book.now
        self._template = template
        self._without_room: set[str] = set()
        self._began = 0.0
        self._woken = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._working = Background("looking for sessions to resume", self._work, log)

    def start(self) -> None:
        """Begin to look for work."""
        self._began = asyncio.get_running_loop().time()
        self._working.start()

    async def close(self) -> None:
        """Stop; a claimed job can be claimed again when its lease ends."""
        if self._alarm is not None:
            self._alarm.cancel()
        await self._working.close()

    @property
    def without_room(self) -> int:
        """How many sessions are to be resumed as soon as there is room."""
        return len(self._without_room)

    async def room_made(self) -> None:
        """A run has stopped working: the jobs that waited for room are due."""
        for about in list(self._without_room):
            if not await self._store.hasten(RESUME, about, self._clock()):
                self._without_room.discard(about)
        if self._without_room:
            self.wake()

    def wake(self) -> None:
        """There may be something to do sooner than it seemed."""
        self._woken.set()

    def expect(self) -> None:
        """An answer was written with its job: look when that is due, unless the agent has the answer by then.

        Most answers reach a waiting call within milliseconds, so the store is not read for each of them.
        """
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(GRACE, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.wake()

    async def ended(self, run: Run) -> None:
        """A process has ended: what it did not get is due now, or after a pause if that is what it was started for."""
        for job in await self._store.jobs(RESUME, subject(run.number)):
            # How long the API of the model is left alone is decided, and told, when the job is looked at.
            pause = 0.0 if run.refusals else PAUSES[min(job.attempts, len(PAUSES) - 1)]
            await self._store.hasten(RESUME, job.subject, self._clock() + pause)
        self.wake()

    async def let_go(self, name: str) -> None:
        """The last pipe of a session is gone: what it did not get is due, once a restart of the agent had its chance."""
        await self._store.hasten(RESUME, f"session:{name}", self._clock() + GRACE)
        self.wake()

    async def again(self, run: Run) -> bool:
        """Try once more what was given up, or at once what waits; False when there is nothing of the kind."""
        if run.next_try is not None:
            await self._book.change(run.number, lambda current: Step(run=replace(current, refused_at=None)))
            found = await self._store.hasten(RESUME, subject(run.number), self._clock())
            self.wake()
            return bool(found)
        records = each_record(self._store, RESUME, "failed")
        failed = [record async for record in records if record.body.get("run") == run.number]
        for record in failed:
            job = Job(
                id=f"{RESUME}:{record.key}",
                kind=RESUME,
                subject=subject(run.number),
                due=self._clock(),
                runner=run.runner,
                body={"inquiry": record.key, "run": run.number},
            )
            forgotten = Effects(forgotten=((RESUME, record.key),), jobs=(job,))
            await self._store.revise(RESUME, record.key, _writing(forgotten))
        self.wake()
        return bool(failed)

    async def _work(self) -> None:
        self._woken.clear()
        jobs = await self._store.claim(
            [RESUME], runner=self._book.runner, now=self._clock(), lease=LEASE, limit=AT_ONCE
        )
        for job in jobs:
            await self._consider_alone(job)
        if not jobs:
            await self._nap()

    async def _nap(self) -> None:
        due = await self._store.next_due([RESUME], self._book.runner)
        left = LONGEST_NAP if due is None else min(max(due - self._clock(), 0), LONGEST_NAP)
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()

    async def _consider_alone(self, job: Job) -> None:
        """Look at one job; a failure that concerns only its session does not stop the others."""
        try:
            await self._consider(job)
        except StorageError:
            raise
        except Exception:
            log.exception("cannot think about %s; looking at it again later", job.id)
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._clock() + LOOK_AGAIN),)))

    async def _consider(self, job: Job) -> None:
        try:
            inquiry = await self._store.get(str(job.body["inquiry"]))
            if job.body["run"] is None:
                await self._consider_own_session(job, inquiry)
                return
            run = await self._book.get(int(str(job.body["run"])))
        except (StorageError, DamagedRow):
            raise
        except UpcallError:
            await self._store.settle(job)
            return
        job = _without_cut_off(job, run)
        if not needs_delivery(inquiry) or run.ending or run.state is RunState.CANCELLED:
            await self._store.settle(job)
        elif run.alive or self._sessions.is_taken(run):
            # Parked but alive: it gets the answer when it asks again, and is never started a second time.
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._clock() + LOOK_AGAIN),)))
        elif not run.session:
            await self._give_up(
                job, run, inquiry, "the agent never told its session, so it cannot be resumed"
            )
        elif run.refusals and await self._is_put_off(job, run, inquiry):
            return
        elif _cut_off(job) >= MOST_CUT_OFF:
            await self._give_up(job, run, inquiry, f"the daemon ended {MOST_CUT_OFF} times before it began")
        elif job.attempts >= MOST_ATTEMPTS or (job.attempts and run.reason == SESSION_GONE):
            await self._give_up(job, run, inquiry, run.reason or f"exit code {run.exit_code}")
        elif self._clock() < (rested_at := self._sessions.rested_at(run)):
            await self._store.settle(job, Effects(jobs=(replace(job, due=rested_at),)))
        else:
            async with self._sessions.room() as room:
                if room > 0:
                    self._without_room.discard(job.subject)
                    await self._resume(job, run, inquiry)
                    return
                self._without_room.add(job.subject)
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._clock() + LOOK_AGAIN),)))

    async def _is_put_off(self, job: Job, run: Run, inquiry: Inquiry) -> bool:
        """Whether it is too early to try the API of the model again, or too late: then that is written down."""
        trouble = waiting_for(run.agent, run.reason) or run.reason
        if run.refusals > MOST_REFUSALS:
            await self._give_up(job, run, inquiry, f"{trouble}, tried {run.refusals} times")
            return True
        again = run.next_try
        if again is None or again <= self._clock():
            return False
        # The program was there and did what it could: its attempts are counted anew.
        later = replace(job, attempts=0, due=again)
        told = replace(later, attempts=run.refusals)
        note = self._note(WAITING, told, inquiry, trouble)
        await self._store.settle(job, Effects(jobs=(later,), records=(note,)))
        return True

    async def _consider_own_session(self, job: Job, inquiry: Inquiry) -> None:
        """A session that a person started: when its pipe is gone, it is adopted as a run and resumed as such."""
        origin = inquiry.origin
        if not needs_delivery(inquiry):
            await self._store.settle(job)
        elif (left := self._began + REUNION - asyncio.get_running_loop().time()) > 0:
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._clock() + left),)))
        elif self._sessions.is_connected(origin.program, origin.session):
            await self._store.settle(job, Effects(jobs=(replace(job, due=self._clock() + LOOK_AGAIN),)))
        else:
            run = await self._adoption.adopt(inquiry)
            body = {**job.body, "run": run.number}
            mine = replace(job, subject=subject(run.number), due=self._clock(), body=body)
            await self._store.settle(job, Effects(jobs=(mine,)))

    async def _resume(self, job: Job, run: Run, inquiry: Inquiry) -> None:
        attempt = replace(
            job,
            attempts=job.attempts + 1,
            due=self._clock() + STARTED_WITHIN,
            body={**job.body, "starts": run.starts},
        )
        effects = Effects(
            jobs=(attempt,),
            records=(self._note("started", attempt, inquiry),),
        )
        if not await self._store.settle(job, effects):
            return
        for kept in await self._store.jobs(RESUME, attempt.subject):
            if kept.id == attempt.id:
                # Under our name: if this daemon dies before the start, the job is due as soon as that is known.
                await self._store.renew(kept, attempt.due)
        now = self._clock()
        await self._store.update(inquiry.id, lambda current: lifecycle.forward(current, run.number, now))
        undelivered = await self._deliveries.with_files(await self._deliveries.undelivered(run))
        if run.deferred and any(each.origin.request_key == run.deferred for each in undelivered):
            # The call itself is waiting for its decision, which its hook gets when it asks again.
            await self._sessions.start(run.number, TurnInput(resumes=True))
            return
        given = TurnInput(
            resumes=True,
            message=message(undelivered, await self._deliveries.open(run), template=self._template),
            delivers=tuple(each.id for each in undelivered),
        )
        await self._sessions.start(run.number, given)

    async def _give_up(self, job: Job, run: Run, inquiry: Inquiry, error: str) -> None:
        log.warning("run %s cannot be resumed with the answer to %s: %s", run.number, inquiry.ref, error)
        effects = Effects(
            records=(self._note("failed", job, inquiry, error),),
            happenings=(self._said("resume_failed", run, inquiry, error=error),),
        )
        if await self._store.settle(job, effects):
            reason = f"resume_failed: {error}"
            now = self._clock()
            await self._book.change(
                run.number,
                lambda current: (
                    None
                    if current.alive
                    else Step(
                        run=replace(current, state=RunState.FAILED, reason=reason, ended_at=now),
                        event="run_failed",
                    )
                ),
            )
            await self._deliveries.give_up(run)

    def _note(self, state: str, job: Job, inquiry: Inquiry, error: str | None = None) -> Record:
        body = {"run": job.body["run"], "attempts": job.attempts, "error": error}
        return Record(kind=RESUME, key=inquiry.id, state=state, at=self._clock(), body=body)

    def _said(self, event: str, run: Run, inquiry: Inquiry, **more: object) -> Happening:
        data: dict[str, object] = {"run": run.number, "agent": run.agent, "ref": inquiry.ref, **more}
        return Happening(type=event, at=self._clock(), data=data, inquiry=inquiry.id)


def _without_cut_off(job: Job, run: Run) -> Job:
    """The job as it was before its latest attempt, if that has not led to a process: only one that was begun gets an exit code."""
    before = job.body.get("starts")
    if not isinstance(before, int) or run.alive or (run.starts > before and run.exit_code is not None):
        return job
    body = {**job.body, "starts": None, "cut_off": _cut_off(job) + 1}
    return replace(job, attempts=job.attempts - 1, body=body)


def _cut_off(job: Job) -> int:
    return int(str(job.body.get("cut_off", 0)))


def _writing(effects: Effects) -> Revise:
    return lambda _: effects
