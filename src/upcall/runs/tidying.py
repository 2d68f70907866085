"""Removes the variables that were kept for sessions, once these are over."""

import asyncio
import logging
import time
from collections.abc import Callable

from upcall.domain.errors import DamagedRow, UnknownInquiry, UnknownRun
from upcall.domain.run.resume import needs_delivery
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.background import Background
from upcall.ports.following import Follower
from upcall.ports.store import Event, Store
from upcall.runs.book import Book
from upcall.runs.process.preparing import Premises

ENDING = frozenset({"collected", "cancelled", "expired", "failed"})
"""The events after which a question needs no session any more."""
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
        self._handovers = SavedEnvironments(premises.home.path)
        self._following = Follower("removing what was kept for questions", store, self._heed, log)
        self._looking = Background(
            "looking through what was kept for sessions", self._turn, log, pauses=(EVERY,)
        )

    async def start(self, seen: int) -> None:
        """Look at everything now and every hour, and after the event `seen` at each question that ends."""
        await self._following.start(seen)
        self._looking.start()

    async def close(self) -> None:
        """Stop looking."""
        await self._following.close()
        await self._looking.close()

    async def _heed(self, event: Event) -> None:
        if event.inquiry is not None and event.type in ENDING:
            await self._question(event.inquiry)

    async def _question(self, inquiry: str) -> None:
        """Remove what a pipe has left for a question, if that is over."""
        try:
            if await asyncio.to_thread(self._handovers.has, inquiry) and await self._is_over(inquiry):
                await asyncio.to_thread(self._handovers.forget, inquiry)
        except (DamagedRow, OSError) as problem:
            # The next look finds it again; until then it holds up neither the others nor the runs.
            log.warning("what was kept for %s stays: %s", inquiry, problem)

    async def _turn(self) -> None:
        for inquiry in await asyncio.to_thread(self._handovers.inquiries):
            await self._question(inquiry)
        await self._runs()
        await asyncio.to_thread(self._handovers.forget_unfinished, time.time() - EVERY)
        await asyncio.sleep(EVERY)

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
