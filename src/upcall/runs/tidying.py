"""Removes the variables that were kept for sessions, once these are over."""

import asyncio
import logging
import time
from collections.abc import Callable

from upcall.domain.errors import DamagedRow, UnknownInquiry, UnknownRun, UpcallError
from upcall.domain.run.resume import needs_delivery
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.store import Store
from upcall.runs.book import Book
from upcall.runs.process.preparing import Premises

EVERY = 3600.0
KEPT_FOR = 24 * 3600.0
"""Seconds after the end of a run in which a person may go on with it, in the environment that it had."""

log = logging.getLogger("upcall.runs")


class Tidying:
    """Of one daemon."""

    def __init__(self, store: Store, book: Book, premises: Premises, clock: Callable[[], float]) -> None:
        self._store = store
        self._book = book
        self._premises = premises
        self._clock = clock

    async def now_and_then(self) -> None:
        """Look at everything when the daemon begins, and every hour, for ever."""
        while True:
            try:
                await self.questions()
                await self._runs()
                handovers = SavedEnvironments(self._premises.home.path)
                await asyncio.to_thread(handovers.forget_unfinished, time.time() - EVERY)
            except UpcallError as problem:
                log.warning("what was kept for sessions cannot be looked through: %s", problem.message)
            except Exception:
                log.exception("looking through what was kept for sessions failed; again in an hour")
            await asyncio.sleep(EVERY)

    async def questions(self) -> None:
        """Remove what pipes have left for questions that are over."""
        handovers = SavedEnvironments(self._premises.home.path)
        for inquiry in await asyncio.to_thread(handovers.inquiries):
            try:
                if await self._is_over(inquiry):
                    await asyncio.to_thread(handovers.forget, inquiry)
            except (DamagedRow, OSError) as problem:
                # It is looked at again, and holds up neither the others nor the runs.
                log.warning("what was kept for %s stays: %s", inquiry, problem)

    async def _runs(self) -> None:
        for number in await asyncio.to_thread(self._premises.with_environment):
            if await self._has_ended(number):
                await asyncio.to_thread(self._premises.folder(number).forget_environment)

    async def _is_over(self, name: str) -> bool:
        try:
            inquiry = await self._store.get(name)
        except UnknownInquiry:
            return True
        return not inquiry.is_open and inquiry.state_name != "queued" and not needs_delivery(inquiry)

    async def _has_ended(self, number: int) -> bool:
        try:
            run = await self._book.get(number)
        except UnknownRun:
            # Its folder is there before it is in the book.
            return False
        if run.alive or not run.is_over:
            return False
        return self._clock() - (run.ended_at or run.created_at) > KEPT_FOR
