"""A plan of an agent's program put to a person, and their decision as the program's verdict."""

from upcall.broker.broker import Broker
from upcall.broker.plans import without_edits
from upcall.domain.answer.outcome import outcome
from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin
from upcall.domain.inquiry.limits import MOST_NATIVE, NATIVE
from upcall.domain.inquiry.plans import ASKED, decision
from upcall.domain.run.program import Verdict
from upcall.ports.unhurried import unhurried

PURPOSE = "plan"


async def decided(broker: Broker, plan: str, origin: Origin, wait: float, *, edits: bool) -> Verdict:
    """The verdict about a plan, after `wait` seconds at most. Nothing but a person's yes lets it be carried out.

    Raises:
        UpcallError: if it cannot be asked.
    """
    if len(plan) > MOST_NATIVE:
        raise InvalidInquiry("plan", f"at most {MOST_NATIVE} characters", hint="plan less at once")
    fields = {"kind": "plan", "question": ASKED, "context": plan}
    drafted = await unhurried(len(plan), lambda: draft(fields, NATIVE))
    drafted = drafted if edits else without_edits(drafted)
    added = await broker.ask(drafted, origin, named_session=True)
    return verdict(await broker.wait(added.inquiry, wait))


def verdict(inquiry: Inquiry) -> Verdict:
    """What a program is told about its plan."""
    match inquiry.state:
        case Answered(answer=answer):
            decided = decision(inquiry, answer)
        case _:
            decided = None
    return Verdict(
        allowed=decided in ("approve", "accept_edits"),
        accepts_edits=decided == "accept_edits",
        reason=outcome(inquiry).text,
        open=inquiry.is_open,
        inquiry=inquiry.id,
    )
