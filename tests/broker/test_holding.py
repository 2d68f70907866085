"""A decision that can be undone: it wins from its start, the asker is told after it, and nothing loses it."""

import asyncio
from pathlib import Path

import pytest

from tests.broker.conftest import ADMIN, AGENT, ANA, BEN, Clock
from tests.broker.test_broker import asked, waiting_for
from upcall.broker.broker import Broker, Policy, Reply
from upcall.domain.approval import denials
from upcall.domain.approval.actions import approval
from upcall.domain.approval.rules import Remember
from upcall.domain.errors import InvalidRequest, NotAllowed
from upcall.domain.inquiry.inquiry import Answered, Expired, Inquiry, Origin, Rejected
from upcall.domain.run import resume
from upcall.domain.run.program import Action
from upcall.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.promise("desk/2")

REDIS = Reply(text="Redis", via="web", hold=4)


async def types(broker: Broker, inquiry: Inquiry) -> list[str]:
    return [event.type for event in await broker.store.events(0) if event.inquiry == inquiry.id]


async def woken(broker: Broker, waiter: asyncio.Task[Inquiry], inquiry: Inquiry, clock: Clock) -> Inquiry:
    """What a waiter gets once the time is over in which the decision can be undone."""
    held = (await broker.store.get(inquiry.id)).held
    assert held is not None
    clock.now = held.until
    # The sweep sleeps by real time; another question makes it look at the clock that the test has moved.
    await asked(broker)
    return await waiter


async def followed(broker: Broker) -> None:
    """Return once the waiters have seen everything that is in the log by now."""
    other = await asked(broker)
    waiter = await waiting_for(broker, other)
    await broker.reject(other.id, BEN)
    await waiter


async def test_the_asker_is_told_a_held_answer_after_the_time_to_undo_it(
    broker: Broker, clock: Clock
) -> None:
    inquiry = await asked(broker)
    waiter = await waiting_for(broker, inquiry)

    taken = await broker.receive(inquiry.ref, REDIS, ANA)

    assert taken.accepted
    assert taken.inquiry.state_name == "open"
    await followed(broker)
    assert not waiter.done()
    told = await woken(broker, waiter, inquiry, clock)
    assert isinstance(told.state, Answered)
    assert told.state.answer.values == (("Redis",),)
    assert told.state.closing.by == "ana"
    assert await types(broker, inquiry) == ["asked", "held", "answered"]


async def test_a_held_answer_is_the_first_and_every_other_loses_against_it(broker: Broker) -> None:
    inquiry = await asked(broker)
    await broker.receive(inquiry.ref, REDIS, ANA)

    other = await broker.receive(inquiry.ref, Reply(text="Memcached"), BEN)
    declined = await broker.reject(inquiry.ref, BEN)

    assert not other.accepted
    assert not declined.accepted
    held = declined.inquiry.held
    assert held is not None
    assert isinstance(held.decision, Answered)
    assert held.decision.answer.values == (("Redis",),)
    assert not (await broker.snooze(inquiry.ref, BEN, 60)).accepted
    assert not (await broker.extend(inquiry.ref, BEN, 60)).accepted


async def test_the_same_request_sent_again_is_accepted_again(broker: Broker) -> None:
    inquiry = await asked(broker)
    reply = Reply(text="Redis", hold=4, key="k1")
    await broker.receive(inquiry.ref, reply, ANA)

    assert (await broker.receive(inquiry.ref, reply, ANA)).accepted


async def test_undoing_opens_the_question_again_and_says_so_in_the_log(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker)
    waiter = await waiting_for(broker, inquiry)
    await broker.receive(inquiry.ref, REDIS, ANA)

    undone = await broker.undo(inquiry.ref, ANA)

    assert undone.accepted
    assert undone.inquiry == inquiry
    assert await types(broker, inquiry) == ["asked", "held", "undone"]
    said = (await broker.store.events(0))[-1].data
    assert (said["by"], said["decision"], said["answers"]) == ("ana", "answered", [["Redis"]])
    clock.now += 10
    assert (await broker.receive(inquiry.ref, Reply(text="Memcached"), BEN)).accepted
    told = await waiter
    assert isinstance(told.state, Answered)
    assert told.state.answer.values == (("Memcached",),)


async def test_what_was_told_cannot_be_undone(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker)
    await broker.receive(inquiry.ref, REDIS, ANA)
    clock.now += 4

    late = await broker.undo(inquiry.ref, ANA)

    assert not late.accepted
    assert late.inquiry.state_name == "answered"
    assert not (await broker.undo(inquiry.ref, ANA)).accepted


async def test_only_the_person_who_decided_or_an_admin_undoes(broker: Broker) -> None:
    inquiry = await asked(broker)
    await broker.receive(inquiry.ref, REDIS, ANA)

    with pytest.raises(NotAllowed):
        await broker.undo(inquiry.ref, BEN)
    with pytest.raises(NotAllowed):
        await broker.undo(inquiry.ref, AGENT)
    assert (await broker.undo(inquiry.ref, ADMIN)).accepted


async def test_a_refusal_can_be_held_too(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker)
    waiter = await waiting_for(broker, inquiry)
    await broker.reject(inquiry.ref, ANA, reason="not now", hold=4)

    told = await woken(broker, waiter, inquiry, clock)

    assert isinstance(told.state, Rejected)
    assert told.state.closing.reason == "not now"


async def test_a_daemon_that_was_killed_while_it_held_tells_the_answer_after_its_restart(
    tmp_path: Path, clock: Clock
) -> None:
    first = await SqliteStore.open(tmp_path / "upcall.db", clock=clock)
    broker = Broker(first, Policy(), clock=clock, follow_up=resume.consequences)
    await broker.start()
    inquiry = await asked(broker, run=7, runner="here")
    await broker.receive(inquiry.ref, REDIS, ANA)
    assert not await first.jobs(resume.RESUME, resume.subject(7))
    await broker.close()
    await first.close()

    clock.now += 3600
    again = await SqliteStore.open(tmp_path / "upcall.db", clock=clock)
    restarted = Broker(again, Policy(), clock=clock, follow_up=resume.consequences)
    await restarted.start()
    told = await restarted.wait(await again.get(inquiry.id), 10)

    assert isinstance(told.state, Answered)
    assert told.state.answer.values == (("Redis",),)
    (job,) = await again.jobs(resume.RESUME, resume.subject(7))
    assert job.due == clock.now + resume.GRACE
    await restarted.close()
    await again.close()


async def test_a_held_answer_outlives_the_deadline_of_its_question(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker, {"question": "Which cache?", "ttl": 2})
    waiter = await waiting_for(broker, inquiry)
    await broker.receive(inquiry.ref, REDIS, ANA)

    told = await woken(broker, waiter, inquiry, clock)

    assert told.expires_at < clock.now
    assert isinstance(told.state, Answered)


async def test_one_that_is_undone_after_its_deadline_expires(broker: Broker, clock: Clock) -> None:
    inquiry = await asked(broker, {"question": "Which cache?", "ttl": 2})
    waiter = await waiting_for(broker, inquiry)
    await broker.receive(inquiry.ref, REDIS, ANA)
    clock.now += 3

    await broker.undo(inquiry.ref, ANA)

    assert isinstance((await waiter).state, Expired)


async def test_an_asker_that_withdraws_gets_what_was_decided_before(broker: Broker) -> None:
    inquiry = await asked(broker)
    await broker.receive(inquiry.ref, REDIS, ANA)

    withdrawn = await broker.cancel(inquiry.ref, AGENT)

    assert not withdrawn.accepted
    assert isinstance(withdrawn.inquiry.state, Answered)


async def an_approval(broker: Broker) -> Inquiry:
    action = Action(tool="Bash", input={"command": "make deploy"}, cwd="/srv/shop")
    origin = Origin(agent=AGENT.name, session="s1", door="test", purpose="permission")
    return (await broker.ask(approval(action), origin)).inquiry


async def test_a_denial_is_remembered_only_when_the_agent_is_told(broker: Broker, clock: Clock) -> None:
    inquiry = await an_approval(broker)
    waiter = await waiting_for(broker, inquiry)
    await broker.receive(inquiry.ref, Reply(answers=[["Deny"]], hold=4), ANA)
    assert not (await broker.store.records(denials.KIND)).items

    told = await woken(broker, waiter, inquiry, clock)

    assert isinstance(told.state, Answered)
    assert len((await broker.store.records(denials.KIND)).items) == 1


async def test_what_makes_a_rule_is_not_held(broker: Broker) -> None:
    inquiry = await an_approval(broker)
    reply = Reply(answers=[["Approve"]], hold=4, remember=Remember(way="exact", seconds=60))

    with pytest.raises(InvalidRequest):
        await broker.receive(inquiry.ref, reply, ANA)
    assert (await broker.store.get(inquiry.id)) == inquiry
