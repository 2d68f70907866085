"""Starts runs as far as the limit permits: sessions with an answer first, then queued runs, the oldest first."""

import asyncio

from upcall.domain.run.run import Run, RunState
from upcall.runs.book import Book
from upcall.runs.process.host import TurnInput
from upcall.runs.process.supervise import Supervisor
from upcall.runs.resume import ResumeWorker
from upcall.runs.tasks import Tasks


class RunQueue:
    """The queue of one daemon. Runs that wait for a person do not count towards the limit."""

    def __init__(self, supervisor: Supervisor, worker: ResumeWorker, book: Book) -> None:
        self._supervisor = supervisor
        self._worker = worker
        self._book = book
        self._resting: set[int] = set()
        self._tasks = Tasks()
        self._is_closed = False

    async def close(self) -> None:
        """Start nothing more."""
        self._is_closed = True
        await self._tasks.close()

    async def start_due(self) -> None:
        """Start the queued runs that there is room for."""
        async with self._supervisor.room() as room:
            if self._is_closed:
                return
            # Sessions that have an answer waiting were begun earlier than every queued run.
            left = room - self._worker.without_room
            queued = [run for run in await self._book.own(RunState.QUEUED) if not self._rests(run)]
            for run in list(reversed(queued))[: max(left, 0)]:
                given = TurnInput(resumes=True, message="") if run.session else TurnInput(resumes=False)
                await self._supervisor.start(run.number, given)

    async def look_again(self) -> None:
        """A run has stopped working, or an answer has come: start what has room now."""
        self._worker.wake()
        await self._worker.room_made()
        await self.start_due()

    def expect(self) -> None:
        """A session that a person started has an answer: it is resumed unless its pipe hands the answer over."""
        self._worker.expect()

    def _rests(self, run: Run) -> bool:
        """Whether the session of a run must not be resumed yet; it is started when its rest is over."""
        left = self._supervisor.rested_at(run) - self._book.now() if run.session else 0.0
        if left <= 0:
            return False
        if run.number not in self._resting:
            self._resting.add(run.number)
            _ = self._tasks.add(self._start_after(run, left), f"let run {run.number} rest")
        return True

    async def _start_after(self, run: Run, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._resting.discard(run.number)
        await self.start_due()
