"""Approvals that take several people, or another person than the asker; and those that no asker waits for."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.approvals.conftest import AGENT, ANA, BEN, CWD, Office, a_command
from upcall.approvals.abandoned import deny_open
from upcall.broker.broker import Reply
from upcall.domain.approval.rules import Remember
from upcall.domain.document import document
from upcall.domain.errors import InvalidRequest, NotAllowed
from upcall.domain.inquiry.inquiry import Answered, Inquiry
from upcall.domain.records import Effects
from upcall.domain.roles import Caller, Role
from upcall.domain.run.run import Run, record_of

CEM = Caller(name="cem", role=Role.PERSON)


async def put(office: Office, key: str = "c") -> Inquiry:
    await office.desk().approve(a_command(), key, wait=0)
    return (await office.waiting())[0]


@pytest.mark.promise("spec/119")
async def test_it_takes_as_many_people_as_the_quorum(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=2)
    inquiry = await put(office)
    first = await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    assert first.accepted
    assert first.inquiry.is_open
    approvals = document(first.inquiry)["approvals"]
    assert isinstance(approvals, dict)
    assert (approvals["needed"], [vote["by"] for vote in approvals["given"]]) == (2, ["ana"])
    assert (await office.desk().approve(a_command(), "c", wait=0)).open

    await office.broker.snooze(inquiry.id, CEM, 60)
    last = await office.broker.receive(inquiry.id, Reply(text="yes"), BEN)
    assert last.accepted
    assert [vote.by for vote in (await office.store.get(inquiry.id)).votes] == ["ana", "ben"]
    assert (await office.desk().approve(a_command(), "c", wait=0)).allowed
    (voted,) = await office.events("voted")
    assert (voted.data["by"], voted.data["given"], voted.data["needed"]) == ("ana", 1, 2)


async def test_a_person_counts_once(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=2)
    inquiry = await put(office)
    await office.broker.receive(inquiry.id, Reply(text="yes", key="k1"), ANA)
    again = await office.broker.receive(inquiry.id, Reply(text="yes", key="k2"), ANA)
    assert not again.accepted
    assert again.inquiry.is_open
    assert len(again.inquiry.votes) == 1
    repeated = await office.broker.receive(inquiry.id, Reply(text="yes", key="k1"), ANA)
    assert repeated.accepted, "the same request again gets the same reply"
    assert len(repeated.inquiry.votes) == 1


async def test_the_first_no_ends_it(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=3)
    inquiry = await put(office)
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    settled = await office.broker.receive(inquiry.id, Reply(text="no"), BEN)
    assert settled.accepted
    assert not settled.inquiry.is_open
    verdict = await office.desk().approve(a_command(), "c", wait=0)
    assert (verdict.allowed, verdict.open) == (False, False)


async def test_force_does_not_stand_in_for_other_people(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=2)
    inquiry = await put(office)
    office.now = inquiry.expires_at + 1
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", force=True), ANA)
    assert not settled.accepted
    assert settled.inquiry.state_name == "expired"


async def test_one_of_several_cannot_remember_for_all(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=2)
    inquiry = await put(office)
    with pytest.raises(InvalidRequest):
        await office.broker.receive(inquiry.id, Reply(text="yes", remember=Remember(way="exact")), ANA)
    assert not (await office.store.get(inquiry.id)).votes


async def test_a_question_takes_one_person_under_any_quorum(open_office: Callable[..., Any]) -> None:
    office = await open_office(quorum=2)
    asked = await office.desk().ask({"question": "Which?"}, "q", wait=0)
    assert not (await office.broker.receive(asked.id, Reply(text="x"), ANA)).inquiry.is_open


@pytest.mark.promise("spec/119")
async def test_the_person_who_started_the_run_can_only_deny(open_office: Callable[..., Any]) -> None:
    office = await open_office(asker_may_approve=False)
    run = Run(number=7, agent="claude", task="t", cwd=CWD, by="ana", runner="here", created_at=0.0)
    await office.store.revise("run", "7", lambda _: Effects(records=(record_of(run),)))
    inquiry = await put(office)
    with pytest.raises(NotAllowed):
        await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    assert (await office.store.get(inquiry.id)).is_open
    assert (await office.broker.receive(inquiry.id, Reply(text="yes"), BEN)).accepted

    await office.desk().approve(a_command("make"), "d", wait=0)
    (other,) = await office.waiting()
    assert (await office.broker.receive(other.id, Reply(text="no"), ANA)).accepted


@pytest.mark.promise("spec/114")
async def test_what_a_run_leaves_open_is_denied(office: Office) -> None:
    mine = await put(office)
    question = await office.desk().ask({"question": "Which?"}, "q", wait=0)
    other = Caller(name=AGENT.name, role=Role.AGENT, run=8)
    await office.desk(caller=other, session="s8").approve(a_command(), "c", wait=0)

    (denied,) = await deny_open(office.broker, AGENT.name, run=7)
    assert denied.id == mine.id
    assert isinstance(denied.state, Answered)
    assert denied.state.answer.values == (("Deny",),)
    assert (await office.store.get(question.id)).is_open, "only approvals are"
    (left,) = await deny_open(office.broker, AGENT.name, session="s8")
    assert left.origin.run == 8
