"""Says lines to people: that something counts, that it was too late, which question they mean.

A line is a job from the moment at which what it replies to was taken, so neither a busy vendor nor a crash loses it. Lines
are said one at a time and in their order: while the first one has to wait, so do the others.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.health import SENDING, Health
from upcall.dispatch.outage import PAUSES, Hurry
from upcall.domain.errors import StorageError
from upcall.domain.records import Effects, Job
from upcall.ports.background import Background
from upcall.ports.channel import Line, Refused, Says, SignedOut, Unavailable
from upcall.ports.store import Ledger

CALL_SECONDS = 30.0
LEASE = 2 * CALL_SECONDS
LONGEST_NAP = 30.0
LONGEST_PAUSE = 60.0
OLDEST = 24 * 3600.0
"""Seconds after which a line says nothing any more to the person whom it was for."""

log = logging.getLogger("upcall.dispatch")


class Teller:
    """One per channel and daemon."""

    def __init__(
        self,
        store: Ledger,
        configured: ConfiguredChannel,
        clock: Callable[[], float],
        health: Health,
        *,
        pauses: Sequence[float] = PAUSES,
        alone: bool = True,
    ) -> None:
        self._store = store
        self._configured = configured
        self._clock = clock
        self._health = health
        self._pauses = pauses
        self._kind = f"say:{configured.name}"
        self._failures = 0
        self._pause = 0.0
        self._woken = asyncio.Event()
        self._recovered = asyncio.Event()
        # A line that an earlier daemon was at is ours, if there is no other daemon that may be at it.
        self._hurry = Hurry(clock() + LEASE if alone else 0.0)
        self._working = Background(f"saying lines in {configured.name}", self._turn, log)

    async def keep(self, line: Line) -> None:
        """Keep a line, to be said as soon as it is its turn.

        Raises:
            StorageError: if it cannot be kept.
        """
        now = self._clock()
        body = {"to": dict(line.to), "text": line.text, "at": now}
        job = Job(
            id=f"{self._kind}:{line.id}", kind=self._kind, subject=self._configured.name, due=now, body=body
        )
        await self._store.revise("line", line.id, lambda _: Effects(jobs=(job,)))
        self._woken.set()

    def recover(self) -> None:
        """The vendor is back: nothing waits any longer."""
        self._recovered.set()

    def start(self) -> None:
        """Begin to say what there is to say. A line that fails comes again when its lease ends."""
        self._working.start()

    async def close(self) -> None:
        """Stop; a line that is being said may be said again by the next daemon."""
        await self._working.close()

    async def _turn(self) -> None:
        self._woken.clear()
        self._hurry.look()
        if not await self._one():
            self._hurry.end()
            await self._nap()

    async def _one(self) -> bool:
        now = self._clock()
        early = self._hurry.early(now)
        jobs = await self._store.claim([self._kind], runner="", now=now + early, lease=LEASE - early, limit=1)
        for job in jobs:
            self._recovered.clear()
            kept = await self._said(job)
            # In its old place, so that nothing which was to be said later is said first.
            again = (replace(job, due=float(str(job.body["at"])), attempts=job.attempts + 1),) if kept else ()
            await self._store.settle(job, Effects(jobs=again))
            if kept:
                self._hurry.end()
                await self._rest()
        return bool(jobs)

    async def _said(self, job: Job) -> bool:
        """Say a line. Whether it has to be kept, because it could not be said."""
        channel, to = self._configured.channel, job.body["to"]
        assert isinstance(to, dict)
        if not isinstance(channel, Says) or self._clock() - float(str(job.body["at"])) > OLDEST:
            return False
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await channel.say(
                    {str(name): str(value) for name, value in to.items()}, str(job.body["text"])
                )
        except Unavailable as problem:
            await self._put_off(problem)
            return True
        except TimeoutError:
            await self._put_off(Unavailable(f"no reply within {CALL_SECONDS:g} seconds"))
            return True
        except Refused as problem:
            log.warning("a person in %s cannot be told: %s", self._configured.name, problem)
        except StorageError:
            raise
        except Exception:
            log.exception("the channel %s failed", self._configured.name)
        else:
            await self._health.works(SENDING)
        self._failures = 0
        return False

    async def _put_off(self, problem: Unavailable) -> None:
        log.info("a person in %s is told later: %s", self._configured.name, problem)
        pause = self._pauses[min(self._failures, len(self._pauses) - 1)]
        self._failures += 1
        self._pause = pause if problem.after is None else min(problem.after, LONGEST_PAUSE)
        if problem.after is None or isinstance(problem, SignedOut):
            await self._health.failed(SENDING, problem)

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._recovered.wait()

    async def _nap(self) -> None:
        due = await self._store.next_due([self._kind], "")
        left = LONGEST_NAP if due is None else min(max(due - self._clock(), 0), LONGEST_NAP)
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()
