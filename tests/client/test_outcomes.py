"""How asking ends, as a program sees it."""

import asyncio
from functools import partial
from typing import Any

import anyio
import pytest

import upcall
from tests.client.program import Crew

CHOICE: dict[str, Any] = {"options": ["Redis", "Memcached"]}


@pytest.mark.promise("programs/1")
async def test_an_answer_is_taken_apart_by_match(crew: Crew) -> None:
    ask = partial(crew.asker.ask, "Which cache?", **CHOICE)
    answer = await crew.outcome_of(ask, lambda ref: crew.ana.answer(ref, "1"))

    match answer:
        case upcall.Answered(text=words, by=person, via=channel):
            assert (words, person, channel) == ("Redis", "ana", "api")
        case _:
            pytest.fail(f"it was answered, and not {answer}")
    assert answer.values == (("Redis",),)
    assert answer.value == "Redis"
    # People see that the answer has arrived.
    events = crew.ana.events(after=0)
    while (await anext(events))["type"] != "collected":
        pass
    assert (await crew.ana.get(answer.id))["answer"]["collected_at"]


@pytest.mark.promise("programs/1")
async def test_every_other_end_is_a_class_of_its_own(crew: Crew) -> None:
    ask = partial(crew.asker.ask, "Which cache?", **CHOICE)

    async def ask_and_fail(ref: str) -> None:
        await crew.house.broker.fail(ref, via="slack", reason="no route took it")

    async def let_expire(ref: str) -> None:
        crew.house.clock.now += 25 * 3600
        await crew.ana.answer(ref, "Redis")

    declined = await crew.outcome_of(ask, lambda ref: crew.ana.reject(ref, "ask me tomorrow"))
    withdrawn = await crew.outcome_of(ask, lambda ref: crew.asker.withdraw(ref, "found it"))
    failed = await crew.outcome_of(ask, ask_and_fail)
    expired = await crew.outcome_of(ask, let_expire)
    parked = await crew.asker.ask("Which cache?", timeout=0, **CHOICE)

    assert isinstance(declined, upcall.Rejected)
    assert (declined.reason, declined.by) == ("ask me tomorrow", "ana")
    assert isinstance(withdrawn, upcall.Cancelled)
    assert (withdrawn.reason, withdrawn.by) == ("found it", "builder")
    assert isinstance(failed, upcall.Failed)
    assert failed.reason == "no route took it"
    assert isinstance(expired, upcall.Expired)
    assert isinstance(parked, upcall.Parked)
    assert (await crew.ana.get(parked.ref))["state"] == "open"


async def test_a_parked_question_is_waited_for_again_by_its_ref(crew: Crew) -> None:
    parked = await crew.asker.ask("Which cache?", timeout="1s", **CHOICE)

    answer = await crew.outcome_of(
        partial(crew.asker.wait, parked.ref, timeout=60), lambda ref: crew.ana.answer(ref, "2")
    )

    assert isinstance(answer, upcall.Answered)
    assert answer.text == "Memcached"


@pytest.mark.promise("programs/3")
async def test_a_yes_allows_exactly_the_action_that_was_shown(crew: Crew) -> None:
    given = {"command": "rm -rf build"}
    approve = partial(crew.asker.approve, "bash", given, cwd="/srv/shop", reason="the build is stale")

    async def read_and_approve(ref: str) -> None:
        shown = await crew.ana.get(ref)
        assert shown["kind"] == "approval"
        assert (shown["action"]["tool"], shown["action"]["cwd"]) == ("bash", "/srv/shop")
        assert shown["questions"][0]["question"] == "rm -rf build"
        assert "the build is stale" in shown["context"]
        await crew.said(ref, "Approve", note="but look first")

    verdict = await crew.outcome_of(approve, read_and_approve)

    assert isinstance(verdict, upcall.Allowed)
    assert (verdict.input, verdict.by, verdict.note) == (given, "ana", "but look first")


@pytest.mark.promise("raised/18")
async def test_what_a_person_edited_is_the_input_that_is_allowed_or_else_suggested(crew: Crew) -> None:
    asked, edited = {"command": "rm -rf build dist"}, {"command": "rm -rf build"}

    async def edits(ref: str) -> None:
        await crew.said(ref, "Approve", input=edited)

    allowed = await crew.outcome_of(partial(crew.asker.approve, "bash", asked), edits)
    denied = await crew.outcome_of(partial(crew.asker.approve, "bash", asked, editable=False), edits)

    assert isinstance(allowed, upcall.Allowed)
    assert allowed.input == edited
    assert isinstance(denied, upcall.Denied)
    assert denied.reason == 'call it again with {"command": "rm -rf build"} instead'


@pytest.mark.promise("programs/3")
async def test_anything_but_a_yes_is_a_denial_and_silence_too(crew: Crew) -> None:
    approve = partial(crew.asker.approve, "bash", {"command": "rm -rf build"})

    async def say_no(ref: str) -> None:
        await crew.said(ref, "Deny", note="use make clean")

    denied = await crew.outcome_of(approve, say_no)
    declined = await crew.outcome_of(approve, crew.ana.reject)
    silent = await crew.asker.approve("bash", {"command": "rm -rf build"}, timeout=0)

    assert isinstance(denied, upcall.Denied)
    assert (denied.reason, denied.by) == ("use make clean", "ana")
    assert isinstance(declined, upcall.Denied)
    assert isinstance(declined.outcome, upcall.Rejected)
    assert isinstance(silent, upcall.Denied)
    assert isinstance(silent.outcome, upcall.Parked)


@pytest.mark.promise("programs/8")
async def test_cancelling_the_task_withdraws_a_question_that_nothing_could_rejoin(crew: Crew) -> None:
    inquiry = await cancelled(crew, partial(crew.asker.ask, "Which cache?"))

    assert (inquiry["state"], inquiry["resolution"]["by"]) == ("cancelled", "builder")


@pytest.mark.promise("programs/8")
async def test_cancelling_the_task_leaves_a_question_open_that_has_a_key(crew: Crew) -> None:
    inquiry = await cancelled(crew, partial(crew.asker.ask, "Which cache?", key="call-17"))

    assert inquiry["state"] == "open"


@pytest.mark.promise("programs/8")
@pytest.mark.parametrize(("word", "state"), [("withdraw", "cancelled"), ("leave", "open")])
async def test_an_argument_decides_what_cancelling_does(crew: Crew, word: Any, state: str) -> None:
    key: Any = {"key": "call-17"} if word == "withdraw" else {}
    inquiry = await cancelled(crew, partial(crew.asker.ask, "Which cache?", on_cancel=word, **key))

    assert inquiry["state"] == state


async def test_a_task_that_is_cancelled_while_its_request_is_under_way_leaves_no_question(crew: Crew) -> None:
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(crew.asker.ask("Which cache?"))
        # The second time it is cancelled after the request was sent, and before the reply was read.
        await crew.asker.get((await crew.house.asked())["ref"])
        asking.cancel()

    assert [each async for each in crew.ana.find("cache", state="open")][1:] == []


async def cancelled(crew: Crew, ask: Any) -> Any:
    """The one question of a program, after its task was cancelled."""
    asked: Any = None
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            asked = await crew.the_open_one()
            tasks.cancel_scope.cancel()
    return await crew.ana.get(asked["id"])
