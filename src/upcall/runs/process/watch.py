"""What one process of a run has been seen to do so far, and what follows from it at once."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from upcall.domain.errors import StorageError
from upcall.domain.run.program import Finished, Noticed, SessionSeen, ToolReturned, TurnTaken
from upcall.domain.run.run import Run, noted
from upcall.runs.book import Book, Step
from upcall.runs.deliveries import Deliveries

log = logging.getLogger("upcall.runs")

SAVE_EVERY = 1.0
"""Seconds between two notes of how far a run is; live views have it from memory."""

LONGEST_PAUSE = 30.0
"""Seconds between two tries at most while the store cannot keep a note."""


class Watch:
    """Counts, and keeps the book up to date. `live` is the run as it is at this moment.

    What the process has said is kept in the book together with how far its output was read, so that a daemon that goes
    on from there knows all of it.

    `delivers` are the inquiries that the process was started with the answers of: its model has them once it speaks.
    """

    def __init__(self, run: Run, book: Book, deliveries: Deliveries, delivers: Sequence[str]) -> None:
        self.live = run
        self._book = book
        self._deliveries = deliveries
        self._clock = book.now
        self._delivers = delivers
        self._has_spoken = False
        self._returned: list[ToolReturned] = []
        """Results that the program has handed to its model, which has not spoken since."""
        self._read = run.read
        self._saved_at = book.now()
        self._saved = run
        self._saving: asyncio.Task[None] | None = None

    async def heard(self, handed: Sequence[str]) -> bool:
        """The program spoke after it was told how these inquiries ended, so it has that; False if that could not be kept."""
        try:
            await self._deliveries.arrived(handed, self.live)
        except StorageError:
            log.exception("run %s: what it has got cannot be written down", self.live.number)
            return False
        return True

    def mark(self, read: int) -> None:
        """Everything up to there has been taken in; a daemon that goes on begins at what is not proved yet."""
        self._read = read
        if not self._returned:
            self.live = replace(self.live, read=read)
            self._save_soon()

    async def take(self, noticed: Noticed) -> None:
        """Take in what was noticed."""
        self.live = noted(self.live, noticed)
        try:
            await self._act_on(noticed)
        except StorageError:
            # What was not recorded is found again: a resume job stands for every answer without evidence.
            log.exception("run %s: what it did cannot be written down", self.live.number)
            self._save_soon()

    async def _act_on(self, noticed: Noticed) -> None:
        match noticed:
            case Finished(ok=True) | TurnTaken():
                await self.spoke()
            case ToolReturned():
                self._returned.append(noticed)
            case _:
                pass
        # Without its session's id a run cannot be brought back, so that is never left for later.
        if isinstance(noticed, SessionSeen) or self._clock() - self._saved_at >= SAVE_EVERY:
            await self.save()
        else:
            self._save_soon()

    def _save_soon(self) -> None:
        if self._saving is None:
            self._saving = asyncio.create_task(self._save_later())

    async def spoke(self) -> None:
        """The model has spoken, so it has what it was started with and every result before that."""
        # What the store cannot keep now is proved once more when the model speaks again. What it was started with comes first:
        # a result in the same words would else be taken for the answer to that.
        if not self._has_spoken:
            await self._deliveries.arrived(self._delivers, self.live)
            self._has_spoken = True
        while self._returned:
            await self._deliveries.evidence(self.live, self._returned[0].id, self._returned[0].text)
            del self._returned[0]

    async def over(self) -> None:
        """The process has ended: what its model has not answered by now is told by the next one, which reads on from here."""
        self._returned = []
        self.live = replace(self.live, read=self._read)
        await self.save()

    async def close(self) -> None:
        """Note how far it came."""
        self.stop()
        await self.save()

    def stop(self) -> None:
        """Note nothing more by itself."""
        if self._saving is not None:
            self._saving.cancel()

    async def _save_later(self) -> None:
        pause = SAVE_EVERY
        try:
            while self.live != self._saved:
                await asyncio.sleep(pause)
                pause = SAVE_EVERY if await self._is_saved() else min(2 * pause, LONGEST_PAUSE)
        finally:
            self._saving = None

    async def _is_saved(self) -> bool:
        try:
            await self.save()
        except StorageError:
            log.exception("run %s: how far it is cannot be written down", self.live.number)
            return False
        return True

    async def save(self) -> None:
        """Note how far it is."""
        self._saved_at = self._clock()
        noting = self.live
        if noting != self._saved:
            await self._book.change(noting.number, self._step)
            self._saved = noting

    def _step(self, run: Run) -> Step:
        after = self.onto(run)
        is_news = (after.session, after.turns, after.tool) != (run.session, run.turns, run.tool)
        return Step(run=after, event="run_progress" if is_news else "")

    def onto(self, run: Run) -> Run:
        """A run with what this process has added to it."""
        live = self.live
        return replace(
            run,
            session=live.session,
            turns=live.turns,
            tool=live.tool,
            cost=live.cost,
            input_tokens=live.input_tokens,
            output_tokens=live.output_tokens,
            read=live.read,
            words=live.words,
            refusals=live.refusals,
            refused_at=live.refused_at,
        )
