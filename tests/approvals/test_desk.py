"""What becomes of an action that a program wants to do, and of the questions that it asks in its own way."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.approvals.conftest import AGENT, ANA, CWD, Office, a_command
from upcall.broker.broker import Reply
from upcall.broker.threads import Threads
from upcall.domain.answer.outcome import Outcome
from upcall.domain.approval import actions
from upcall.domain.run.program import Action, Verdict
from upcall.ports.store import Query


async def put(office: Office, action: Action, key: str = "call-1", **desk: Any) -> asyncio.Task[Verdict]:
    """An action that waits for a person."""
    task = asyncio.create_task(office.desk(**desk).approve(action, key))
    await office.waiting()
    return task


async def test_an_approved_action_is_allowed(office: Office) -> None:
    deciding = await put(office, a_command())
    (inquiry,) = await office.waiting()
    assert inquiry.questions[0].text == "git push --force"
    assert (inquiry.origin.run, inquiry.origin.purpose) == (7, "permission")
    assert inquiry.digest == actions.digest(a_command())
    await office.broker.receive(inquiry.ref, Reply(text="yes"), ANA)
    assert await deciding == Verdict(allowed=True, reason="The user approved this.", inquiry=inquiry.id)


@pytest.mark.promise("spec/118")
@pytest.mark.parametrize(
    ("reply", "said"), [("no", "denied this"), ("no, push to staging instead", "push to staging instead")]
)
async def test_a_denied_action_comes_back_with_the_words_of_the_person(
    office: Office, reply: str, said: str
) -> None:
    deciding = await put(office, a_command())
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.ref, Reply(text=reply), ANA)
    verdict = await deciding
    assert not verdict.allowed
    assert not verdict.open
    assert said in verdict.reason


async def test_declined_withdrawn_and_expired_are_all_a_no(office: Office) -> None:
    for number, end in enumerate(("reject", "cancel", "expire")):
        deciding = await put(office, a_command(f"make {end}"), f"call-{number}")
        (inquiry,) = await office.waiting()
        if end == "reject":
            await office.broker.reject(inquiry.id, ANA, reason="not on a Friday")
        elif end == "cancel":
            await office.broker.cancel(inquiry.id, AGENT)
        else:
            office.now += 90_000
            await office.broker.reject(inquiry.id, ANA)
        verdict = await deciding
        assert not verdict.allowed
        assert not verdict.open
        assert ("not on a Friday" in verdict.reason) == (end == "reject")


async def test_an_action_that_is_not_decided_in_time_is_open_and_not_a_yes(office: Office) -> None:
    verdict = await office.desk().approve(a_command(), "call-1", wait=0)
    (inquiry,) = await office.waiting()
    assert (verdict.allowed, verdict.open, verdict.inquiry) == (False, True, inquiry.id)
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    again = await office.desk().approve(a_command(), "call-1", wait=0)
    assert again.allowed, "the same call, taken up again, has its answer"


@pytest.mark.promise("trust/75")
async def test_an_approval_that_came_late_is_used_once_for_the_identical_action(office: Office) -> None:
    assert (await office.desk().approve(a_command(), "call-1", wait=0)).open
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)

    for other in (office.desk(session="s2"), office.desk(caller=replace(AGENT, run=8))):
        assert (await other.approve(a_command(), "call-2", wait=0)).open
    assert (await office.desk().approve(a_command("git push --force --all"), "call-3", wait=0)).open
    late = await office.desk().approve(a_command(), "call-4", wait=0)
    assert (late.allowed, late.inquiry) == (True, inquiry.id)
    again = await office.desk().approve(a_command(), "call-5", wait=0)
    assert (again.allowed, again.open) == (False, True)
    assert again.inquiry != inquiry.id
    first = await office.desk().approve(a_command(), "call-1", wait=0)
    assert not first.allowed, "its yes was used by another call"


@pytest.mark.promise("trust/75")
async def test_an_approval_that_was_used_or_has_expired_is_asked_anew(office: Office) -> None:
    deciding = await put(office, a_command())
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    assert (await deciding).allowed
    assert (await office.desk().approve(a_command(), "call-2", wait=0)).open

    (second,) = await office.waiting()
    await office.broker.receive(second.id, Reply(text="yes"), ANA)
    office.now += 90_000
    assert (await office.desk().approve(a_command(), "call-3", wait=0)).open


@pytest.mark.promise("trust/75")
async def test_of_two_calls_for_one_approval_the_later_has_it(office: Office) -> None:
    cut = await put(office, a_command(), "call-1")
    (inquiry,) = await office.waiting()
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    assert (await office.desk().approve(a_command(), "call-2", wait=0)).inquiry == inquiry.id
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    assert (await office.desk().approve(a_command(), "call-2", wait=0)).allowed
    assert not (await office.desk().approve(a_command(), "call-1", wait=0)).allowed


@pytest.mark.promise("trust/75")
async def test_two_calls_that_wait_at_the_same_time_take_an_approval_each(office: Office) -> None:
    one = await put(office, a_command(), "call-1")
    other = asyncio.create_task(office.desk().approve(a_command(), "call-2"))
    first, second = await office.waiting(2)
    await office.broker.receive(second.id, Reply(text="yes"), ANA)
    assert (await other).allowed
    await office.broker.receive(first.id, Reply(text="yes"), ANA)
    assert (await one).allowed


@pytest.mark.promise("trust/74")
async def test_a_native_question_that_is_repeated_has_the_answer_once(office: Office) -> None:
    question: dict[str, object] = {"questions": [{"question": "Which cache?"}]}
    assert (await office.desk().ask(question, "q-1", wait=0)).status == "parked"
    assert (await office.desk().ask(question, "q-2", wait=0)).status == "parked"
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.id, Reply(text="Redis"), ANA)
    assert (await office.desk().ask(question, "q-3", wait=0)).answers == (("Redis",),)
    assert (await office.desk().ask(question, "q-3", wait=0)).answers == (("Redis",),)
    assert (await office.desk().ask(question, "q-4", wait=0)).status == "parked"


@pytest.mark.promise("spec/116")
async def test_another_action_under_the_same_key_is_denied(office: Office) -> None:
    await office.desk().approve(a_command(), "call-1", wait=0)
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.id, Reply(text="yes"), ANA)
    verdict = await office.desk().approve(a_command("git push --force --all"), "call-1", wait=0)
    assert not verdict.allowed
    assert "'call-1' was already used for something else" in verdict.reason


@pytest.mark.promise("spec/118")
async def test_what_was_denied_is_not_asked_again_in_that_turn(office: Office) -> None:
    deciding = await put(office, a_command())
    (inquiry,) = await office.waiting()
    await office.broker.receive(inquiry.id, Reply(text="no, never by force"), ANA)
    first = await deciding

    again = await office.desk().approve(a_command(), "call-2")
    assert again == first
    assert not (await office.store.find(Query(state="open"))).items

    assert (await office.desk(session="s2").approve(a_command(), "call-3", wait=0)).open
    await office.desk().begin_turn()
    assert (await office.desk().approve(a_command(), "call-4", wait=0)).open


async def test_an_autonomous_run_is_not_kept_waiting_and_leaves_a_trace(office: Office) -> None:
    desk = office.desk(caller=replace(AGENT, autonomous=True))
    assert (await desk.approve(a_command("curl -H 'Authorization: Bearer abcdef1234567890'"), "c")).allowed
    (event,) = await office.events("allowed_by_mode")
    assert event.data["run"] == 7
    assert "abcdef1234567890" not in str(event.data)


@pytest.mark.promise("spec/114")
async def test_without_people_an_action_is_denied_at_once(office: Office) -> None:
    verdict = await office.desk(has_people=lambda: False).approve(a_command(), "c")
    assert not verdict.allowed
    assert not verdict.open
    assert not (await office.store.find(Query())).items


async def test_an_action_too_large_to_be_shown_whole_is_denied(office: Office) -> None:
    verdict = await office.desk().approve(a_command("x" * actions.MOST_SHOWN), "c")
    assert not verdict.allowed
    assert "shown whole" in verdict.reason
    assert not (await office.store.find(Query())).items


async def ask(office: Office, fields: dict[str, object], key: str = "q-1") -> asyncio.Task[Outcome]:
    task = asyncio.create_task(office.desk().ask(fields, key))
    await office.waiting()
    return task


@pytest.mark.promise("spec/21")
@pytest.mark.thorough
async def test_a_native_question_is_never_refused_for_its_length(office: Office) -> None:
    long = "Which one? " * 1000
    options = [{"label": f"{number} " + "x" * 500, "description": "y" * 5000} for number in range(30)]
    questions = [
        {"question": f"{number}. {long}", "header": "h" * 99, "options": options} for number in range(6)
    ]
    asking = await ask(office, {"questions": questions})
    (inquiry,) = await office.waiting()
    assert len(inquiry.questions) == 6
    assert inquiry.questions[0].text == f"0. {long}".strip()
    await office.broker.receive(
        inquiry.id, Reply(answers=[[options[3]["label"]] for _ in inquiry.questions]), ANA
    )
    assert (await asking).answers == ((options[3]["label"],),) * 6


@pytest.mark.parametrize("fields", [{}, {"questions": []}, {"question": "?", "options": 7}])
async def test_a_native_question_that_makes_no_sense_is_failed(
    office: Office, fields: dict[str, object]
) -> None:
    outcome = await office.desk().ask(fields, "q")
    assert outcome.status == "failed"
    assert outcome.text


async def test_a_native_question_is_taken_up_again_under_its_key(office: Office) -> None:
    fields = {"question": "Which cache?", "options": ["Redis", "Memcached"]}
    parked = await office.desk().ask(fields, "q", wait=0)
    assert parked.status == "parked"
    await office.broker.receive(parked.id, Reply(text="1"), ANA)
    answered = await office.desk().ask(fields, "q", wait=0)
    assert (answered.id, answered.answers) == (parked.id, (("Redis",),))


async def test_a_desk_says_where_its_questions_come_from(office: Office) -> None:
    await office.desk().ask({"question": "Which cache?"}, "q", wait=0)
    (inquiry,) = await office.waiting()
    assert (inquiry.origin.agent, inquiry.origin.session) == ("claude", "s1")
    assert (inquiry.origin.door, inquiry.origin.workspace) == ("codex", CWD)


async def test_what_a_thread_says_counts_before_what_the_agent_may_do_elsewhere(office: Office) -> None:
    threads = Threads(office.broker)
    await threads.begin(ANA, name="t", agent=AGENT.name, permissions="approval")
    free = replace(AGENT, autonomous=True)
    bound = office.desk(caller=free, thread="t", has_people=lambda: False)
    assert not (await bound.approve(a_command(), "one")).allowed
    await threads.choose("t", ANA, "")
    assert (await bound.approve(a_command(), "two")).allowed
