"""Follows the questions of runs in the event log: whether each run waits, goes on, or is over.

After each step it writes `state.json` in the run's folder, for programs that read files rather than an API.
"""

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime

from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import TAKEN_OVER
from upcall.domain.run.run import Run, RunState
from upcall.ports.following import Follower
from upcall.ports.store import Event
from upcall.runs.book import Book, Step
from upcall.runs.deliveries import Deliveries
from upcall.runs.process.host import RunHost
from upcall.runs.process.settle import UNANSWERED
from upcall.runs.process.supervise import Supervisor
from upcall.runs.queue import RunQueue

ANSWERED = frozenset({"answered", "rejected"})
SETTLING = frozenset({"asked", *ANSWERED, *UNANSWERED})
BLOCK_ENDED = "block_ended"

log = logging.getLogger("upcall.runs")


class QuestionFollower:
    """Follows the event log of one daemon's store, for the runs of this machine."""

    def __init__(
        self, host: RunHost, supervisor: Supervisor, queue: RunQueue, deliveries: Deliveries, book: Book
    ) -> None:
        self._host = host
        self._supervisor = supervisor
        self._queue = queue
        self._deliveries = deliveries
        self._book = book
        self._written: dict[int, dict[str, object]] = {}
        self._following = Follower("listening to runs' questions", book.store, self._follow_alone, log)

    async def start(self, seen: int) -> None:
        """Follow the log from there on."""
        await self._following.start(seen)

    async def close(self) -> None:
        """Stop following."""
        await self._following.close()

    async def review(self) -> None:
        """Check every run that waits: its question may have been settled while no daemon followed the log."""
        for run in await self._book.own(RunState.WAITING):
            if not run.alive:
                await self._update_state(run.number, "input_timeout")

    async def _follow_alone(self, event: Event) -> None:
        """Follow one event; a failure that concerns one run does not stop the others."""
        try:
            await self._follow(event)
        except StorageError:
            raise
        except Exception:
            log.exception("cannot follow what happened to %s", event.inquiry)

    async def _follow(self, event: Event) -> None:
        if event.inquiry is None and isinstance(number := event.data.get("run"), int):
            await self._write_state(number)
        if event.type == TAKEN_OVER:
            await self._queue.look_again()
        if event.inquiry is None or event.type not in {*SETTLING, BLOCK_ENDED}:
            return
        try:
            inquiry = event.subject or await self._book.store.get(event.inquiry)
        except UnknownInquiry:
            return
        if inquiry.origin.runner == self._book.runner:
            await self._follow_own(event.type, inquiry)

    async def _follow_own(self, happened: str, inquiry: Inquiry) -> None:
        number = inquiry.origin.run
        if number is None:
            if happened in ANSWERED:
                self._queue.expect()
            return
        if happened == BLOCK_ENDED:
            # An answer that came just now is something to go on with.
            if inquiry.is_open:
                self._supervisor.end(number)
            return
        await self._update_state(number, UNANSWERED.get(happened))
        await self._write_state(number)
        await self._queue.look_again()

    async def _update_state(self, number: int, reason: str | None) -> None:
        run = await self._book.get(number)
        asks, waits = bool(await self._deliveries.open(run)), await self._deliveries.waits(run)
        await self._book.change(number, lambda current: self._step(current, asks, waits, reason))

    def _step(self, run: Run, asks: bool, waits: bool, reason: str | None) -> Step | None:  # noqa: FBT001 - facts, not options
        if run.alive:
            state = RunState.WAITING if asks else RunState.RUNNING
            event = "run_waiting" if asks else "run_going_on"
            return None if run.state is state else Step(run=replace(run, state=state), event=event)
        if run.state is RunState.WAITING and not waits and reason is not None:
            failed = replace(run, state=RunState.FAILED, reason=reason, ended_at=self._book.now())
            return Step(run=failed, event="run_failed")
        if run.is_over and run.state is not RunState.CANCELLED and waits:
            # Answered by force after it had been given up: it goes on after all.
            return Step(run=replace(run, state=RunState.WAITING, ended_at=None), event="run_waiting")
        return None

    async def _write_state(self, number: int) -> None:
        """Write how a run stands, if that is new and the run is of this machine."""
        run = await self._book.get(number)
        if run.runner != self._book.runner:
            return
        state = _state(run, await self._deliveries.open(run))
        if self._written.get(number) == state:
            return
        await asyncio.to_thread(self._host.folder(number).write_state, state)
        self._written[number] = state
        if run.is_over:
            del self._written[number]


def _state(run: Run, asked: list[Inquiry]) -> dict[str, object]:
    return {
        "status": run.state.value,
        "session_id": run.session,
        "reason": run.reason,
        "pending_question": _question(asked[0]) if asked else None,
    }


def _question(inquiry: Inquiry) -> dict[str, object]:
    first = inquiry.questions[0]
    asked_at = datetime.fromtimestamp(inquiry.asked_at, UTC).isoformat(timespec="seconds")
    return {
        "id": inquiry.id,
        "question": "\n".join(question.text for question in inquiry.questions),
        "context": inquiry.context,
        "options": list(first.labels),
        "asked_at": asked_at.replace("+00:00", "Z"),
    }
