"""How far an answer is on its way to a session that has ended, for people to see."""

import shlex
from collections.abc import Mapping

from upcall.domain.document import timestamp
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Job, Record
from upcall.domain.run.program import Door, Session
from upcall.domain.run.resume import RESUME, is_named, job_id, needs_delivery, subject, subject_of
from upcall.ports.store import Ledger
from upcall.runs.process.preparing import Premises

BY_HAND = "by_hand"
WAITING = "waiting"
"""The service of the model refused, and is tried again later."""


class Forwarding:
    """Reads what is known about the resume of an inquiry's session."""

    def __init__(self, ledger: Ledger, premises: Premises) -> None:
        self._ledger = ledger
        self._premises = premises

    async def state(self, inquiry: Inquiry) -> Mapping[str, object] | None:
        """How far it is; None where nothing is to be done, or was."""
        origin = inquiry.origin
        if origin.run is None and not origin.program:
            return None
        record = await self._ledger.look_up(RESUME, inquiry.id)
        run = origin.run if record is None else record.body["run"]
        job = await self._job(inquiry, run)
        if record is None and job is None:
            if origin.run is not None or not needs_delivery(inquiry):
                return None
            return self._told(BY_HAND, None, None, None, self._command(inquiry))
        return self._told(self._word(job, record), run, job, record, self._command(inquiry))

    async def _job(self, inquiry: Inquiry, run: object) -> Job | None:
        subjects = {subject_of(inquiry.origin)} | ({subject(run)} if isinstance(run, int) else set())
        for about in subjects:
            for job in await self._ledger.jobs(RESUME, about):
                if job.id == job_id(inquiry):
                    return job
        return None

    def _word(self, job: Job | None, record: Record | None) -> str:
        if job is not None and job.runner not in {"", self._premises.runner}:
            return f"waiting for runner {job.runner}"
        if record is None:
            return "pending"
        return "done" if job is None and record.state != "failed" else record.state

    def _told(
        self, state: str, run: object, job: Job | None, record: Record | None, command: str | None
    ) -> Mapping[str, object]:
        known = {} if record is None else record.body
        is_put_off = job is not None and state == WAITING
        return {
            "state": state,
            "run": run,
            "attempts": known.get("attempts", 0),
            "error": known.get("error"),
            "next_try": timestamp(job.due) if job is not None and is_put_off else None,
            "command": command,
        }

    def _command(self, inquiry: Inquiry) -> str | None:
        """What a person types to take a session over that was not started by us."""
        origin = inquiry.origin
        if origin.run is not None:
            return None
        nowhere = Door(command=(), environment={}, url="", token="")
        # Without an id, the latest session of the folder is meant.
        session = Session(
            id=origin.session if is_named(origin) else "", cwd=origin.workspace or ".", door=nowhere
        )
        try:
            argv = self._premises.agents(origin.program).attach(session).argv
        except UpcallError:
            return None
        return f"cd {shlex.quote(session.cwd)} && {shlex.join(argv)}"
