"""Who gets an answer: at the moment at which it is given, and on its way to a session that has ended."""

import shlex
from collections.abc import Container, Mapping

from upcall.access.connected import session_name
from upcall.domain.document import timestamp
from upcall.domain.errors import UnknownRun, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Job, Record
from upcall.domain.run.program import Door, Session
from upcall.domain.run.resume import RESUME, is_named, job_id, needs_delivery, subject, subject_of
from upcall.runs.book import Book
from upcall.runs.process.host import RunHost

CALL, AGENT, RUN, RUNNER, GONE, KEPT = "call", "agent", "run", "runner", "gone", "kept"
"""A waiting call; an agent at work; a session that is resumed; another machine; an asker that is gone; and an asker that
only its next call will show to be there."""

PIPE = "mcp-pipe"
BY_HAND = "by_hand"
WAITING = "waiting"
"""The API of the model refused, and is tried again later."""


class Recipients:
    """Reads where the answers given at one daemon go."""

    def __init__(self, host: RunHost, book: Book) -> None:
        self._host = host
        self._book = book
        self._ledger = book.store

    async def of(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """Who gets the answer; `awaited` says that a call waited for it. None for an inquiry that needs no delivery."""
        if not needs_delivery(inquiry):
            return None
        origin = inquiry.origin
        if awaited:
            return _recipient(CALL, origin.run)
        if origin.runner not in {"", self._host.runner}:
            return _recipient(RUNNER, origin.run)
        if origin.run is not None:
            return await self._of_run(origin.run)
        if self._is_connected(inquiry):
            return _recipient(AGENT)
        state = await self.resume_state(inquiry) or {}
        if origin.program and origin.runner and is_named(origin):
            return _recipient(RUN, state.get("run"))
        if origin.door == PIPE:
            return _recipient(GONE, command=state.get("command"))
        return _recipient(KEPT, command=state.get("command"))

    async def _of_run(self, number: int) -> Mapping[str, object]:
        try:
            run = await self._book.get(number)
        except UnknownRun:
            return _recipient(GONE)
        if run.alive:
            return _recipient(AGENT, number)
        return _recipient(RUN if run.session else GONE, number)

    def _is_connected(self, inquiry: Inquiry) -> bool:
        origin, held = inquiry.origin, self._host.held
        sessions: Container[str] = held
        return inquiry.id in held.asking or session_name(origin.program, origin.session) in sessions

    async def resume_state(self, inquiry: Inquiry) -> Mapping[str, object] | None:
        """How far the resume of the inquiry's session is; None where nothing is to be done, or was."""
        origin = inquiry.origin
        if origin.run is None and not origin.program:
            return None
        record = await self._ledger.look_up(RESUME, inquiry.id)
        run = origin.run if record is None else record.body["run"]
        job = await self._job(inquiry, run)
        command = self._command(inquiry)
        if record is None and job is None:
            if origin.run is not None or not needs_delivery(inquiry):
                return None
            return _resume(BY_HAND, None, None, None, command)
        return _resume(self._state(job, record), run, job, record, command)

    async def _job(self, inquiry: Inquiry, run: object) -> Job | None:
        subjects = {subject_of(inquiry.origin)} | ({subject(run)} if isinstance(run, int) else set())
        for about in subjects:
            for job in await self._ledger.jobs(RESUME, about):
                if job.id == job_id(inquiry):
                    return job
        return None

    def _state(self, job: Job | None, record: Record | None) -> str:
        if job is not None and job.runner not in {"", self._host.runner}:
            return f"waiting for runner {job.runner}"
        if record is None:
            return "pending"
        return "done" if job is None and record.state != "failed" else record.state

    def _command(self, inquiry: Inquiry) -> str | None:
        """The command with which a person takes over a session that Upcall has not started."""
        origin = inquiry.origin
        if origin.run is not None:
            return None
        nowhere = Door(command=(), environment={}, url="", token="")
        # Without an id, the latest session of the folder is meant.
        session = Session(
            id=origin.session if is_named(origin) else "", cwd=origin.workspace or ".", door=nowhere
        )
        try:
            argv = self._host.agents(origin.program).attach(session).argv
        except UpcallError:
            return None
        return f"cd {shlex.quote(session.cwd)} && {shlex.join(argv)}"


def _recipient(to: str, run: object = None, *, command: object = None) -> Mapping[str, object]:
    return {"to": to, "run": run, "command": command}


def _resume(
    state: str, run: object, job: Job | None, record: Record | None, command: str | None
) -> Mapping[str, object]:
    known = {} if record is None else record.body
    return {
        "state": state,
        "run": run,
        "attempts": known.get("attempts", 0),
        "error": known.get("error"),
        "next_try": timestamp(job.due) if job is not None and state == WAITING else None,
        "command": command,
    }
