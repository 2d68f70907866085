"""One decision about several inquiries: a step for each, and what is refused is told for each."""

from collections.abc import AsyncIterator

import pytest

from tests.broker.conftest import AGENT, ANA, Clock
from tests.broker.test_broker import asked
from upcall.broker.broker import Broker, Policy, Settled
from upcall.broker.bulk import MOST_AT_ONCE, Decision
from upcall.domain.approval.actions import approval
from upcall.domain.errors import InvalidRequest, NotAllowed, NotYourDecision
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Action
from upcall.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.promise("desk/18", "desk/19")

APPROVE = Decision(verdict="approve", hold=4)


async def applying(broker: Broker, agent: str = "builder") -> Inquiry:
    action = Action(tool="Bash", input={"command": "terraform apply"}, cwd=f"/srv/{agent}", reason="")
    return (await broker.ask(approval(action), Origin(agent=agent, session=agent, door="http"))).inquiry


@pytest.fixture
async def strict(store: SqliteStore, clock: Clock) -> AsyncIterator[Broker]:
    """A broker under whose settings no one approves what they asked for."""
    started = Broker(store, Policy(asker_may_approve=False), clock=clock)
    await started.start()
    yield started
    await started.close()


async def test_a_person_approves_of_several_only_what_others_asked_for(strict: Broker) -> None:
    mine, other = await applying(strict, "ana"), await applying(strict)
    refused, taken = await strict.bulk.decide([mine.id, other.id], APPROVE, ANA)
    assert isinstance(refused, NotAllowed)
    assert isinstance(taken, Settled)
    assert (taken.accepted, taken.inquiry.held is not None) == (True, True)
    assert (await strict.store.get(mine.id)) == mine


async def test_what_is_no_approval_is_neither_approved_nor_denied(broker: Broker) -> None:
    question = await asked(broker)
    (refused,) = await broker.bulk.decide([question.id], APPROVE, ANA)
    assert isinstance(refused, InvalidRequest)
    assert (await broker.store.get(question.id)).is_open


async def test_another_person_undoes_none_of_them(broker: Broker) -> None:
    inquiries = [await applying(broker), await applying(broker, "painter")]
    names = [each.id for each in inquiries]
    await broker.bulk.decide(names, APPROVE, ANA)
    eve = Caller(name="eve", role=Role.PERSON)
    done = await broker.bulk.decide(names, Decision(verdict="undo"), eve)
    assert [type(each) for each in done] == [NotYourDecision, NotYourDecision]
    undone = await broker.bulk.decide(names, Decision(verdict="undo"), ANA)
    assert [each.inquiry for each in undone if isinstance(each, Settled)] == inquiries


@pytest.mark.parametrize("count", [0, MOST_AT_ONCE + 1])
async def test_a_decision_names_at_least_one_and_not_too_many(broker: Broker, count: int) -> None:
    with pytest.raises(InvalidRequest):
        await broker.bulk.decide(["a7"] * count, APPROVE, ANA)


async def test_an_agent_decides_about_none(broker: Broker) -> None:
    with pytest.raises(NotAllowed):
        await broker.bulk.decide(["a7"], APPROVE, AGENT)
