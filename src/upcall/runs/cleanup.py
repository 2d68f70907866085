"""Removes what is not needed any more: the variables kept for sessions, and runs that have been over for long."""

import asyncio
import logging
import shutil
import time
from functools import partial
from pathlib import Path

from upcall.access.connected import session_name
from upcall.approvals import unnamed
from upcall.domain.approval import denials
from upcall.domain.errors import DamagedRow, UnknownInquiry, UnknownRun, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Record
from upcall.domain.run.resume import RESUME, needs_delivery
from upcall.domain.run.run import ENDED, KIND, Run, run_in
from upcall.home.handed import Handovers
from upcall.runs.adoption import SESSION
from upcall.runs.book import Book
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.host import RunHost

EVERY = 3600.0
KEPT_FOR = 24 * 3600.0
"""Seconds after the end of a run in which a person may go on with it, in the environment that it had."""

log = logging.getLogger("upcall.runs")


class Cleanup:
    """Of one daemon. Records belong to all daemons on the store, and folders to this machine alone."""

    def __init__(self, host: RunHost, book: Book) -> None:
        self.host = host
        self.book = book
        self._store = book.store
        self._handovers = Handovers(host.home.path)

    async def hourly(self) -> None:
        """Remove the variables of sessions that are over: now, and then every hour until the task is cancelled."""
        while True:
            try:
                await self.handovers()
                await self.environments()
                await asyncio.to_thread(self._handovers.forget_unfinished, time.time() - EVERY)
            except UpcallError as problem:
                log.warning("what was kept for sessions cannot be looked through: %s", problem.message)
            except Exception:
                log.exception("looking through what was kept for sessions failed; again in an hour")
            await asyncio.sleep(EVERY)

    async def handovers(self) -> None:
        """Remove every handover that a pipe has left for a question that is over."""
        for name in await asyncio.to_thread(self._handovers.inquiries):
            try:
                await self.after(await self._store.get(name))
            except UnknownInquiry:
                await self._forget_handover(name)
            except DamagedRow as problem:
                # It is looked at again in an hour, and does not hold up the others.
                log.warning("what was kept for %s stays: %s", name, problem)

    async def after(self, inquiry: Inquiry) -> None:
        """Remove the handover of one question, if the question is over."""
        if not inquiry.is_open and inquiry.state_name != "queued" and not needs_delivery(inquiry):
            await self._forget_handover(inquiry.id)

    async def environments(self) -> None:
        """Remove the variables of every run that has been over for a day."""
        for number in await asyncio.to_thread(self.host.with_environment):
            if await self._has_ended(number):
                await asyncio.to_thread(self.host.folder(number).forget_environment)

    async def prune(self, before: float) -> int:
        """Forget the runs that were over before then, with their folders and deliveries; the number of runs."""
        forgotten = 0
        for state in ENDED:
            async for run in self.book.each(state.value):
                forgotten += _is_old(run, before) and await self._forget(run, before)
        for kind in (RESUME, denials.KIND, unnamed.KIND):
            async for record in self.book.records(kind):
                if record.at < before:
                    gone = Effects(forgotten=((kind, record.key),))
                    await self._store.revise(kind, record.key, partial(_writing, gone))
        await self._clear(before)
        return forgotten

    async def _forget_handover(self, inquiry: str) -> None:
        try:
            await asyncio.to_thread(self._handovers.forget, inquiry)
        except OSError as problem:
            log.warning("what was kept for %s stays: %s", inquiry, problem)

    async def _has_ended(self, number: int) -> bool:
        try:
            run = await self.book.get(number)
        except UnknownRun:
            # A new run has its folder before its record.
            return False
        if run.alive or not run.is_over:
            return False
        return self.book.now() - (run.ended_at or run.created_at) > KEPT_FOR

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
        for path in await asyncio.to_thread(_old_folders, self.host.path, before):
            try:
                await self.book.get(int(path.name))
            except UnknownRun:
                if not RunFolder(path).is_kept():
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
