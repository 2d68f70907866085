"""A person asks back: the waiting call returns with the words, the question stays open, and the agent's reply stands beside it."""

import asyncio

import pytest

from tests.broker.test_broker import waiting_for
from tests.doors.test_tools import AGENT, ASKER, HASTY, PATIENCE, PERSON, asked, tools
from upcall.broker.broker import Broker, Reply
from upcall.domain.approval.actions import approval
from upcall.domain.errors import CannotTell, EmptyAnswer, InvalidRequest, NotAllowed
from upcall.domain.inquiry.asking_back import MOST
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.run.program import Action
from upcall.doors.mcp.tools import ToolResult

pytestmark = pytest.mark.promise("desk/23")

CACHE = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


async def asked_back(broker: Broker, name: str = "ask_human", arguments: object = CACHE) -> ToolResult:
    """What a call returns when a person asks back."""
    call = asyncio.create_task(tools(broker).call(name, arguments, ASKER))
    inquiry = await asked(broker)
    taken = await broker.back.ask(inquiry.ref, "For how many users?", PERSON, via="web")
    assert taken.accepted
    async with asyncio.timeout(PATIENCE):
        return await call


async def test_the_waiting_call_returns_with_the_words_and_the_question_stays_open(broker: Broker) -> None:
    told = await asked_back(broker)
    inquiry = await asked(broker)
    assert told.text.startswith("The person asks: For how many users?\nThis is not an answer.")
    assert f'Call wait_for_answer with id "{inquiry.id}"' in told.text
    assert (told.structured["status"], told.structured["asked_back"]) == ("parked", ["For how many users?"])
    assert (told.is_error, told.collectable) == (False, None)
    assert [(each.by, each.told) for each in inquiry.asked_back] == [(PERSON.name, True)]
    types = [event.type for event in await broker.store.events(0)]
    assert types == ["asked", "asked_back", "heard_back"]


async def test_an_approval_that_is_asked_back_about_is_no_yes(broker: Broker) -> None:
    told = await asked_back(broker, "confirm_action", {"action": "terraform apply"})
    assert "This is not an answer and not a yes." in told.text


async def test_the_agent_replies_with_the_same_id_and_gets_its_answer(broker: Broker) -> None:
    told = await asked_back(broker)
    again = {"id": told.structured["id"], "reply": "About 40, with the key AKIAIOSFODNN7EXAMPLE"}
    call = asyncio.create_task(tools(broker).call("wait_for_answer", again, ASKER))
    async with asyncio.timeout(PATIENCE):
        after = 0
        while not (inquiry := await asked(broker)).asked_back[0].reply:
            after = (await broker.store.events(after, wait=PATIENCE))[-1].seq
    assert inquiry.asked_back[0].reply.startswith("About 40")
    assert "AKIAIOSFODNN7EXAMPLE" not in inquiry.asked_back[0].reply
    await broker.receive(inquiry.id, Reply(text="Redis"), PERSON)
    async with asyncio.timeout(PATIENCE):
        assert (await call).structured["answers"] == [["Redis"]]


async def test_words_for_a_parked_question_are_told_to_the_next_call_and_only_wake_one(
    broker: Broker,
) -> None:
    parked = await tools(broker).call("ask_human", CACHE, HASTY)
    await broker.back.ask(str(parked.structured["id"]), "For how many users?", PERSON)
    waiting = {"id": parked.structured["id"]}
    first = await tools(broker).call("wait_for_answer", waiting, ASKER)
    assert "The person asks: For how many users?" in first.text
    # It was told: the next call waits, and reminds of it when it has waited.
    second = await tools(broker).call("wait_for_answer", waiting, HASTY)
    assert "The person asks: For how many users?" in second.text
    types = [event.type for event in await broker.store.events(0)]
    assert types.count("heard_back") == 1


async def test_a_call_that_takes_an_answer_alone_is_not_asked_back(broker: Broker) -> None:
    action = Action(tool="Bash", input={"command": "make deploy"}, cwd="/srv", reason="")
    origin = Origin(agent="local", session="s", door="mcp", purpose="permission")
    prompt = (await broker.ask(approval(action), origin)).inquiry
    with pytest.raises(CannotTell):
        await broker.back.ask(prompt.id, "Why?", PERSON)
    question = await parked(broker)
    waiting = await waiting_for(broker, question)
    with pytest.raises(CannotTell):
        await broker.back.ask(question.id, "Why?", PERSON)
    await broker.reject(question.id, PERSON)
    assert not (await waiting).is_open


async def test_what_is_settled_is_not_asked_back(broker: Broker) -> None:
    question = await parked(broker)
    await broker.receive(question.id, Reply(text="Redis"), PERSON)
    assert not (await broker.back.ask(question.id, "Why?", PERSON)).accepted


async def test_words_that_are_none_or_too_many_are_refused(broker: Broker) -> None:
    question = await parked(broker)
    with pytest.raises(EmptyAnswer):
        await broker.back.ask(question.id, " ", PERSON)
    with pytest.raises(InvalidRequest):
        await broker.back.ask(question.id, "x" * 100_000, PERSON)
    with pytest.raises(NotAllowed):
        await broker.back.ask(question.id, "Why?", AGENT)
    for _ in range(MOST):
        await broker.back.ask(question.id, "Why?", PERSON)
    with pytest.raises(InvalidRequest):
        await broker.back.ask(question.id, "Why?", PERSON)


async def parked(broker: Broker) -> Inquiry:
    """A question that no call waits for."""
    told = await tools(broker).call("ask_human", CACHE, HASTY)
    return await broker.store.get(str(told.structured["id"]))
