"""Evidence that an asker knows how its question ended: it is recorded, and its session is not resumed for it."""

from upcall.broker.broker import Broker
from upcall.domain.inquiry.inquiry import Rejected
from upcall.domain.records import Effects
from upcall.domain.roles import Caller
from upcall.domain.run.resume import RESUME
from upcall.ports.store import Ledger


async def record_evidence(broker: Broker, inquiry: str, caller: Caller, evidence: str) -> None:
    """Record that the asker has its answer, or knows that its question was rejected.

    Raises:
        UnknownInquiry: if there is none, or the caller is not the asker.
    """
    settled = await broker.collect(inquiry, caller, evidence)
    if isinstance(settled.inquiry.state, Rejected):
        # There is nothing to collect in a rejection, but the session knows it and is not resumed for it.
        await drop_resume_job(broker.store, inquiry)


async def drop_resume_job(ledger: Ledger, inquiry: str) -> None:
    """Drop the resume job of an inquiry: its session has the answer, or needs it no more."""
    await ledger.revise(RESUME, inquiry, lambda _: Effects(dropped=(f"{RESUME}:{inquiry}",)))
