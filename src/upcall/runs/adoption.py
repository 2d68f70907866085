"""Sessions that people have started themselves, made into runs so that a late answer can resume them."""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from upcall.access.connected import session_name
from upcall.access.tokens import digest
from upcall.broker.answer_files import AnswerFiles
from upcall.domain.errors import RunConflict, UnknownInquiry, UnknownRun
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Record
from upcall.domain.run.program import Permission
from upcall.domain.run.resume import RESUME, message
from upcall.domain.run.run import Run, RunState
from upcall.runs.book import Book, Step
from upcall.runs.process.host import RunHost

PAGE = 200
SESSION = "session"
ADOPTER = "upcall"
"""The name in `Run.by` of such a run."""


class Adoption:
    """Remembers which run a session has become."""

    def __init__(self, host: RunHost, book: Book, files: AnswerFiles) -> None:
        self._host = host
        self._files = files
        self._book = book
        self._store = book.store

    async def adopt(self, inquiry: Inquiry) -> Run:
        """The run of the session that asked this. It gets the lowest permission, since its own is not known.

        Raises:
            RunConflict: if it cannot have worked on this machine.
        """
        origin = inquiry.origin
        name = session_name(origin.program, origin.session)
        if (run := await self._known(name)) is not None:
            await asyncio.to_thread(self._host.take_over, run, inquiry.id)
            return run
        cwd = origin.workspace or ""
        if not await asyncio.to_thread(is_folder, cwd):
            raise RunConflict(f"session {origin.session} worked in {cwd!r}, which is not a folder here")
        secret = f"upcall_run_{secrets.token_urlsafe(32)}"

        run = Run(
            number=await self._book.next_number(),
            agent=origin.program,
            task=f"Go on with session {origin.session}",
            cwd=cwd,
            by=ADOPTER,
            runner=self._host.runner,
            created_at=self._book.now(),
            permission=Permission.APPROVAL,
            token=digest(secret),
            session=origin.session,
            state=RunState.WAITING,
        )
        await asyncio.to_thread(self._host.create_folder, run, secret, None)
        await asyncio.to_thread(self._host.take_over, run, inquiry.id)
        kept = Record(kind=SESSION, key=name, at=self._book.now(), body={"run": run.number})
        await self._book.enter(run, Effects(records=(kept,)))
        return run

    async def _known(self, name: str) -> Run | None:
        """The run that a session has become; None if there is none, or it is forgotten."""
        known = await self._store.look_up(SESSION, name)
        try:
            return None if known is None else await self._book.get(int(str(known.body["run"])))
        except UnknownRun:
            return None

    async def again(self, run: Run) -> Step | None:
        """The step that tells an adopted session its answers once more; None for every other run."""
        known = await self._store.look_up(SESSION, session_name(run.agent, run.session))
        if known is None or known.body["run"] != run.number:
            return None
        answered = await self._files.each_laid_out(await self._answered(run))
        if not answered:
            return None
        words = message(answered, template=self._host.settings.resume_message)
        queued = replace(run, state=RunState.QUEUED, messages=(words,), reason="", ended_at=None, ending="")
        return Step(run=queued, event="run_queued")

    async def _answered(self, run: Run) -> list[Inquiry]:
        """What the session was last told the end of, or else everything that it was ever told."""
        names = self._host.input_of(run).delivers
        if not names:
            page = await self._store.records(RESUME, limit=PAGE)
            names = tuple(record.key for record in page.items if record.body.get("run") == run.number)
        found: list[Inquiry] = []
        for name in names:
            with suppress(UnknownInquiry):
                found.append(await self._store.get(name))
        return found


def is_folder(path: str) -> bool:
    """Whether an absolute path leads to a folder here."""
    return Path(path).is_absolute() and Path(path).is_dir()
