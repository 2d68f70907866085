"""Hears of every question that a run asks, and of what becomes of it: whether the run waits, goes on, or is over."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.records import TAKEN_OVER
from upcall.domain.run.run import Run, RunState
from upcall.ports.following import Follower
from upcall.ports.store import Event
from upcall.runs.affairs import Affairs
from upcall.runs.book import Step

UNANSWERED = {"expired": "input_timeout", "failed": "input_timeout", "cancelled": "input_cancelled"}
"""How a run ends that waited for a person, by what became of its question."""

SETTLING = frozenset({"asked", "answered", "rejected", *UNANSWERED})
BLOCK_ENDED = "block_ended"

log = logging.getLogger("upcall.runs")


class Listening:
    """Follows the log of one daemon's store; `changed` is told after each step of a run's question.

    `end` ends the process of a run that has blocked for as long as it may; its question stays open. `news` hears of
    every run that is not as it was.
    """

    def __init__(
        self,
        affairs: Affairs,
        changed: Callable[[], Awaitable[None]],
        end: Callable[[int], None],
        news: Callable[[int], Awaitable[None]],
    ) -> None:
        self._store = affairs.store
        self._book = affairs.book
        self._deliveries = affairs.deliveries
        self._runner = affairs.runner
        self._clock = affairs.clock
        self._changed = changed
        self._end = end
        self._news = news
        self._following = Follower("listening to runs' questions", self._store, self._heed_alone, log)

    async def start(self, seen: int) -> None:
        """Follow the log from there on."""
        await self._following.start(seen)

    async def close(self) -> None:
        """Listen no more."""
        await self._following.close()

    async def review(self) -> None:
        """Look at every run that waits: what it waits for may have been settled while nobody listened."""
        waiting = [run async for run in self._book.each(RunState.WAITING.value)]
        for run in waiting:
            if run.runner == self._runner and not run.alive:
                await self._look(run.number, "input_timeout")

    async def _heed_alone(self, event: Event) -> None:
        """Whatever is wrong with one run is no reason to stop listening to all others."""
        try:
            await self._heed(event)
        except StorageError:
            raise
        except Exception:
            log.exception("cannot follow what happened to %s", event.inquiry)

    async def _heed(self, event: Event) -> None:
        if event.inquiry is None and isinstance(number := event.data.get("run"), int):
            await self._news(number)
        if event.type == TAKEN_OVER:
            await self._changed()
        if event.inquiry is None or event.type not in {*SETTLING, BLOCK_ENDED}:
            return
        try:
            inquiry = event.subject or await self._store.get(event.inquiry)
        except UnknownInquiry:
            return
        number = inquiry.origin.run
        if inquiry.origin.runner != self._runner:
            return
        if number is None:
            await self._changed()
            return
        if event.type == BLOCK_ENDED:
            # Somebody may have answered just now: then it has something to go on with.
            if inquiry.is_open:
                self._end(number)
            return
        await self._look(number, UNANSWERED.get(event.type))
        await self._news(number)
        await self._changed()

    async def _look(self, number: int, reason: str | None) -> None:
        run = await self._book.get(number)
        asks, waits = bool(await self._deliveries.open(run)), await self._deliveries.waits(run)
        await self._book.change(number, lambda current: self._step(current, asks, waits, reason))

    def _step(self, run: Run, asks: bool, waits: bool, reason: str | None) -> Step | None:  # noqa: FBT001 - facts, not options
        if run.alive:
            state = RunState.WAITING if asks else RunState.RUNNING
            event = "run_waiting" if asks else "run_going_on"
            return None if run.state is state else Step(run=replace(run, state=state), event=event)
        if run.state is RunState.WAITING and not waits and reason is not None:
            failed = replace(run, state=RunState.FAILED, reason=reason, ended_at=self._clock())
            return Step(run=failed, event="run_failed")
        if run.is_over and run.state is not RunState.CANCELLED and waits:
            # Answered by force after it had been given up: it goes on after all.
            return Step(run=replace(run, state=RunState.WAITING, ended_at=None), event="run_waiting")
        return None
