"""Nothing that an agent sends keeps the daemon from serving the others.

The time is that of the loop's own thread: see `tests/adversary/heartbeat.py`.
"""

import asyncio
import base64
import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from starlette.types import Message

from tests.adversary.freezing import BODIES, INPUTS, NATIVE_QUESTIONS, SEARCHES
from tests.adversary.heartbeat import held_up, settled_heap
from tests.web.house import House
from tests.web.visitor import Visitor
from upcall.approvals.desk import ApprovalDesk
from upcall.approvals.rulebook import Rulebook
from upcall.approvals.unnamed import UnnamedCalls
from upcall.domain.answer.files import LARGEST_FILE, MOST_FILES
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import Action
from upcall.doors.native import QUESTION_TOOL, Call, decide

pytestmark = pytest.mark.thorough

PART = 64 * 1024
"""Bytes that the server reads at once."""

AGENT = Caller(name="builder", role=Role.AGENT)
ANA = Caller(name="ana", role=Role.PERSON)


@pytest.fixture(autouse=True)
def heap() -> Iterator[None]:
    with settled_heap():
        yield


async def alive(house: House) -> None:
    async with asyncio.timeout(60):
        assert (await house.as_(None).get("/livez")).status_code == 200


async def sent_in_parts(house: House, by: str, path: str, body: bytes) -> Any:
    """Post a long body as a server passes it on, without a client that copies all of it in the same loop."""
    parts = [body[start : start + PART] for start in range(0, len(body), PART)]
    said: list[bytes] = []

    async def receive() -> Message:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        said.append(message.get("body", b""))

    headers = [(b"host", b"127.0.0.1:8000"), (b"authorization", f"Bearer {house.secrets[by]}".encode())]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    await house.app(scope, receive, send)
    return json.loads(b"".join(said))


@pytest.mark.promise("trust/17")
@pytest.mark.parametrize("name", BODIES)
async def test_nothing_that_is_asked_holds_up_the_loop(house: House, name: str) -> None:
    agent, person = house.as_("builder"), Visitor(house)
    await person.signs_in()
    # The templates are compiled with the first card.
    await house.asked()
    await person.looks("/")

    async def asked_and_seen() -> None:
        asked, _ = await asyncio.gather(agent.post("/v1/inquiries", content=BODIES[name]), alive(house))
        assert asked.status_code in (201, 400, 413, 422), asked.text
        await person.client.get("/")
        await agent.get("/v1/inquiries")
        await agent.get("/v1/inquiries", params={"q": "password"})

    assert not await held_up(asked_and_seen)


async def test_an_answer_with_all_the_files_that_are_taken_holds_up_no_other(house: House) -> None:
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(LARGEST_FILE - 8)).decode()
    files = [{"name": f"{number}.png", "data": picture} for number in range(MOST_FILES)]
    body = json.dumps({"text": "as in these", "files": files}).encode()

    async def answered() -> None:
        asked = await house.asked()
        reply = await sent_in_parts(house, "ana", f"/v1/inquiries/{asked['ref']}/answer", body)
        assert len(reply["inquiry"]["answer"]["files"]) == MOST_FILES

    assert not await held_up(answered)


@pytest.mark.promise("trust/18")
async def test_a_search_over_combining_marks_is_answered(house: House) -> None:
    for name, body in BODIES.items():
        if "mark" in name:
            await house.as_("builder").post("/v1/inquiries", content=body)
    await house.asked(question="Which needle?", context="\u0316\u0301" * 4_000 + " needle")

    async def searched() -> None:
        for words in SEARCHES:
            found = await house.as_("ana").get("/v1/inquiries", params={"q": words})
            assert found.status_code in (200, 400), found.text
        found = await house.as_("ana").get("/v1/inquiries", params={"q": "needle"})
        assert [each["questions"][0]["question"] for each in found.json()["items"]] == ["Which needle?"]

    assert not await held_up(searched)


@pytest.mark.promise("trust/20")
@pytest.mark.parametrize("name", NATIVE_QUESTIONS)
async def test_native_questions_are_bounded(house: House, name: str) -> None:
    desk = ApprovalDesk(house.broker, caller=AGENT, session="s", door="claude-hook")
    keys = count()

    async def decided() -> None:
        call = Call(tool=QUESTION_TOOL, input={"questions": NATIVE_QUESTIONS[name]}, key=f"call {next(keys)}")
        decision = await decide(call, desk, 0)
        await alive(house)
        assert not decision.allowed
        assert decision.open or "could not be asked" in decision.reason

    assert not await held_up(decided)


@pytest.mark.promise("trust/20")
@pytest.mark.parametrize("name", ("8 000 questions", "8 000 options", "a question of 5 MB"))
async def test_too_many_native_questions_are_refused_with_the_limit(house: House, name: str) -> None:
    desk = ApprovalDesk(house.broker, caller=AGENT, session="s", door="claude-hook")
    call = Call(tool=QUESTION_TOOL, input={"questions": NATIVE_QUESTIONS[name]}, key="k")
    decision = await decide(call, desk, 0)
    assert (decision.allowed, decision.open) == (False, False)
    assert "at most" in decision.reason or "1 to 16" in decision.reason


@pytest.mark.promise("trust/17")
@pytest.mark.parametrize("name", INPUTS)
async def test_an_action_that_is_decided_holds_up_nothing(house: House, name: str) -> None:
    for number in range(5):
        await Rulebook(house.broker).add(ANA, tool="Tool", directory=f"/repo/{number}")
    desk = ApprovalDesk(house.broker, caller=AGENT, session="s", door="claude-hook")
    action = Action(tool="Tool", input=INPUTS[name], cwd="/repo")
    # The first thread is started with the first long text.
    await desk.approve(Action(tool="Other", input={"a": "x" * 10_000}, cwd="/repo"), "first", wait=0)
    keys = count()

    async def decided() -> None:
        verdict = await desk.approve(action, f"call {next(keys)}", wait=0)
        assert not verdict.allowed

    # A part of what a single step may take: several of them follow each other here.
    assert not await held_up(decided, part=1 / 2)


@pytest.mark.promise("trust/17")
@pytest.mark.parametrize("name", INPUTS)
async def test_a_call_without_a_name_is_given_one_without_holding_up_others(house: House, name: str) -> None:
    sent = {"session_id": "s", "tool_name": "Tool", "tool_input": INPUTS[name]}
    async with UnnamedCalls(house.broker.store).named({"tool_input": {"a": "x" * 10_000}}, AGENT):
        pass

    async def named() -> None:
        async with UnnamedCalls(house.broker.store).named(sent, AGENT) as call:
            assert call.number == 0

    assert not await held_up(named, part=1 / 4)
