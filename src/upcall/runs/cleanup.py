"""Removes what is not needed any more: the variables kept for sessions, and runs that have been over for long."""

import asyncio
import logging
import shutil
import time
from functools import partial
from pathlib import Path

from upcall.access.connected import session_name
from upcall.approvals import remarks, unnamed
from upcall.domain.approval import denials
from upcall.domain.errors import DamagedRow, UnknownInquiry, UnknownRun
from upcall.domain.records import Effects, Record
from upcall.domain.run.resume import RESUME, needs_delivery
from upcall.domain.run.run import ENDED, KIND, Run, run_in
from upcall.home.saved_environments import SavedEnvironments
from upcall.ports.background import Background
from upcall.ports.following import Follower
from upcall.ports.paging import each_record
from upcall.ports.store import Event
from upcall.runs.adoption import SESSION
from upcall.runs.book import KEY, Book
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.host import RunHost

EVERY = 3600.0
KEPT_FOR = 24 * 3600.0
"""Seconds after the end of a run in which a person may go on with it, in the environment that it had."""

ENDING = frozenset({"collected", "cancelled", "expired", "failed"})
"""The events after which a question needs no session any more."""

log = logging.getLogger("upcall.runs")


class Cleanup:
    """Of one daemon. Records belong to all daemons on the store, and folders to this machine alone."""

    def __init__(self, host: RunHost, book: Book) -> None:
        self._host = host
        self._book = book
        self._store = book.store
        self._saved = SavedEnvironments(host.home.path)
        self._following = Follower("removing what was kept for questions", book.store, self._follow, log)
        self._checking = Background(
            "looking through what was kept for sessions", self._check_all, log, pauses=(EVERY,)
        )

    async def start(self, seen: int) -> None:
        """Check everything now and every hour, and after the event `seen` each question that ends."""
        await self._following.start(seen)
        self._checking.start()

    async def close(self) -> None:
        """Stop checking."""
        await self._following.close()
        await self._checking.close()

    async def _follow(self, event: Event) -> None:
        if event.inquiry is not None and event.type in ENDING:
            await self._check_question(event.inquiry)

    async def _check_question(self, inquiry: str) -> None:
        """Remove the environment that a pipe has saved for a question, if the question is over."""
        try:
            # One look at a file's name costs less than going to another thread, and few questions have a file.
            if self._saved.has(inquiry) and await self._is_over(inquiry):
                await asyncio.to_thread(self._saved.forget, inquiry)
        except (DamagedRow, OSError) as problem:
            # The next check finds it again; until then it holds up neither the others nor the runs.
            log.warning("what was kept for %s stays: %s", inquiry, problem)

    async def _check_all(self) -> None:
        for inquiry in await asyncio.to_thread(self._saved.inquiries):
            await self._check_question(inquiry)
        await self._check_runs()
        await asyncio.to_thread(self._saved.forget_unfinished, time.time() - EVERY)
        await asyncio.sleep(EVERY)

    async def _is_over(self, name: str) -> bool:
        try:
            inquiry = await self._store.get(name)
        except UnknownInquiry:
            return True
        return not inquiry.is_open and inquiry.state_name != "queued" and not needs_delivery(inquiry)

    async def _check_runs(self) -> None:
        """Remove the variables of every run that has been over for a day."""
        for number in await asyncio.to_thread(self._host.with_environment):
            if await self._has_ended(number):
                await asyncio.to_thread(self._host.folder(number).forget_environment)

    async def prune(self, before: float) -> int:
        """Forget the runs that were over before then, with their folders and deliveries; the number of runs."""
        forgotten = 0
        for state in ENDED:
            async for run in self._book.each(state.value):
                forgotten += _is_old(run, before) and await self._forget(run, before)
        for kind in (RESUME, denials.KIND, remarks.KIND, unnamed.KIND, KEY):
            async for record in each_record(self._store, kind):
                if record.at < before:
                    gone = Effects(forgotten=((kind, record.key),))
                    await self._store.revise(kind, record.key, partial(_writing, gone))
        await self._clear(before)
        return forgotten

    async def _has_ended(self, number: int) -> bool:
        try:
            run = await self._book.get(number)
        except UnknownRun:
            # A new run has its folder before its record.
            return False
        if run.alive or not run.is_over:
            return False
        return self._book.now() - (run.ended_at or run.created_at) > KEPT_FOR

    async def _forget(self, run: Run, before: float) -> bool:
        key = str(run.number)

        def decide(record: Record | None) -> Effects | None:
            # A person may have spoken to it meanwhile, and it goes on.
            if record is None or not _is_old(run_in(record), before):
                return None
            return Effects(forgotten=((KIND, key), (SESSION, session_name(run.agent, run.session))))

        return await self._store.revise(KIND, key, decide) is None

    async def _clear(self, before: float) -> None:
        """Remove the old folders of runs without a record. A new run has its folder first, but that is not old."""
        for path in await asyncio.to_thread(_old_folders, self._host.path, before):
            try:
                await self._book.get(int(path.name))
            except UnknownRun:
                if not RunFolder(path).is_locked():
                    await asyncio.to_thread(_remove, path)


def _is_old(run: Run, before: float) -> bool:
    return run.is_over and not run.alive and (run.ended_at or run.created_at) < before


def _old_folders(folder: Path, before: float) -> list[Path]:
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if path.name.isdecimal() and path.is_dir()]
    return [path for path in found if _changed_before(path, before)]


def _changed_before(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        # Another process has removed it meanwhile.
        return False


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except OSError as error:
        log.warning("the folder %s of a run that is over cannot be removed: %s", path, error)


def _writing(effects: Effects, _: Record | None) -> Effects:
    return effects
