"""Forgetting runs that have been over for long: their records, what is known of their deliveries, and their folders."""

import asyncio
import logging
import shutil
from functools import partial
from pathlib import Path

from upcall.access.connected import session_name
from upcall.approvals import unnamed
from upcall.domain.approval import denials
from upcall.domain.errors import UnknownRun
from upcall.domain.records import Effects, Record
from upcall.domain.run.resume import RESUME
from upcall.domain.run.run import ENDED, KIND, Run, run_in
from upcall.ports.paging import each_record
from upcall.ports.store import Ledger
from upcall.runs.adopting import SESSION
from upcall.runs.book import Book
from upcall.runs.process.folder import RunFolder

log = logging.getLogger("upcall.runs")


class Pruning:
    """Of one daemon. Records are everybody's who shares the store, and folders are of this machine alone."""

    def __init__(self, ledger: Ledger, book: Book, folder: Path) -> None:
        self._ledger = ledger
        self._book = book
        self._folder = folder

    async def prune(self, before: float) -> int:
        """Forget what was over before then; how many runs that were."""
        forgotten = 0
        for state in ENDED:
            async for run in self._book.each(state.value):
                forgotten += _is_old(run, before) and await self._forget(run, before)
        for kind in (RESUME, denials.KIND, unnamed.KIND):
            async for record in each_record(self._ledger, kind):
                if record.at < before:
                    gone = Effects(forgotten=((kind, record.key),))
                    await self._ledger.revise(kind, record.key, partial(_writing, gone))
        await self._clear(before)
        return forgotten

    async def _forget(self, run: Run, before: float) -> bool:
        key = str(run.number)

        def decide(record: Record | None) -> Effects | None:
            # Somebody may have spoken to it meanwhile, and it goes on.
            if record is None or not _is_old(run_in(record), before):
                return None
            return Effects(forgotten=((KIND, key), (SESSION, session_name(run.agent, run.session))))

        return await self._ledger.revise(KIND, key, decide) is None

    async def _clear(self, before: float) -> None:
        """Remove the folders of runs that are in no book. A new run has its folder first, but not for so long."""
        for path in await asyncio.to_thread(_old_folders, self._folder, before):
            try:
                await self._book.get(int(path.name))
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
        # Somebody else has removed it meanwhile.
        return False


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except OSError as error:
        log.warning("the folder %s of a run that is over cannot be removed: %s", path, error)


def _writing(effects: Effects, _: Record | None) -> Effects:
    return effects
