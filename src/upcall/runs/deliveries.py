"""Which answers a run has not received, and the evidence that it has one."""

from collections.abc import Container, Sequence
from dataclasses import replace

from upcall.approvals.abandoned import deny_open
from upcall.broker.broker import Broker
from upcall.broker.evidence import drop_resume_job
from upcall.domain.errors import UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.domain.run.resume import RESUME, is_evidence, needs_delivery, subject
from upcall.domain.run.run import Run
from upcall.ports.paging import each_inquiry
from upcall.ports.store import Query


class Deliveries:
    """The questions of runs and their answers. Every answer without evidence has a resume job."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._store = broker.store

    async def open(self, run: Run) -> list[Inquiry]:
        """The unanswered questions of a run, those included that wait for their turn."""
        queries = [Query(state=state, run=run.number) for state in ("open", "queued")]
        return [inquiry for query in queries async for inquiry in each_inquiry(self._store, query)]

    async def undelivered(self, run: Run) -> list[Inquiry]:
        """The settled questions of a run that it may not know the end of."""
        found: list[Inquiry] = []
        for job in await self._store.jobs(RESUME, subject(run.number)):
            try:
                inquiry = await self._store.get(str(job.body["inquiry"]))
            except UnknownInquiry:
                continue
            if needs_delivery(inquiry):
                found.append(inquiry)
        return found

    async def with_files(self, told: Sequence[Inquiry]) -> list[Inquiry]:
        """These questions, with the files of their answers written for the run to read."""
        return await self._broker.files.each_laid_out(told)

    async def waits(self, run: Run) -> bool:
        """Whether a person's word is still to come, or on its way. Asked in this order, no answer slips through."""
        return bool(await self.open(run)) or bool(await self._store.jobs(RESUME, subject(run.number)))

    async def evidence(self, run: Run, call: str, text: str) -> None:
        """The run's stream has shown a tool's result: an answer in it has arrived."""
        for inquiry in await self.undelivered(run):
            if is_evidence(inquiry, call, text):
                await self._collect(run, inquiry, "tool result")
                await self._drop(inquiry)
                # Two questions may have been answered in the same words, and one result is the answer to one of them.
                return

    async def acknowledged(self, taken: Container[str], run: Run) -> None:
        """The run has ended well after its process took these answers, so each agent that asked in it had them."""
        for inquiry in await self.undelivered(run):
            if inquiry.id in taken:
                await self._collect(run, inquiry, "acknowledged")
                await self._drop(inquiry)

    async def arrived(self, delivered: Sequence[str], run: Run) -> None:
        """The model spoke after it was started with these answers, so it has them."""
        for name in delivered:
            try:
                inquiry = await self._store.get(name)
            except UnknownInquiry:
                continue
            await self._collect(run, inquiry, "spoke after it was told")
            await self._drop(inquiry)

    async def give_up(self, run: Run) -> None:
        """Deny the open approvals of a run that cannot be resumed. Its questions stay open: a retry may need them."""
        for inquiry in await deny_open(self._broker, run.agent, run=run.number):
            await self._drop(inquiry)

    async def cancel_open(self, run: Run) -> None:
        """Close the open approvals and questions of a run that was cancelled."""
        await deny_open(self._broker, run.agent, run=run.number, reason="run_cancelled")
        admin = Caller(name=run.ending or run.agent, role=Role.ADMIN)
        for inquiry in await self.open(run):
            await self._broker.cancel(inquiry.id, admin, reason="run_cancelled", via="runs")

    async def _drop(self, inquiry: Inquiry) -> None:
        """Drop the resume job of an inquiry; one that was refused is never collected."""
        await drop_resume_job(self._store, inquiry.id)

    async def _collect(self, run: Run, inquiry: Inquiry, evidence: str) -> None:
        # An adopted session asked under another name, and it is still the one that has the answer.
        await self._broker.collect(
            inquiry.id, replace(run.caller, name=inquiry.origin.agent, run=inquiry.origin.run), evidence
        )
