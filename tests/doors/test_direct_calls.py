"""Calls of tools in 2026-07-28 over HTTP, which wait outside of the SDK."""

import asyncio
import gc
import json

import httpx2
import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tests.doors.house import AGENT_TOKEN, PATIENCE, House
from tests.plain_http import plain_client
from upcall.http.connection import HttpConnection

CALLS = 5
HEADERS = {
    "Authorization": f"Bearer {AGENT_TOKEN}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "ask_human",
    "Upcall-Wait": "block",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def lively(house: House) -> House:
    """A house that shows signs of life often."""
    house.stop()
    house.beat = 0.15
    house.start()
    return house


def client_of(house: House) -> httpx2.AsyncClient:
    return plain_client(base_url=house.url, headers=HEADERS, timeout=PATIENCE, trust_env=False)


def asking(number: int = 0, **meta: object) -> dict[str, object]:
    arguments = {"question": f"Which of {number}?", "options": ["a", "b"]}
    params = {"name": "ask_human", "arguments": arguments, "_meta": META | meta}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def sdk_objects() -> int:
    gc.collect()
    return sum(type(each).__module__.split(".")[0] in {"mcp", "mcp_types"} for each in gc.get_objects())


@pytest.mark.promise("proof/20")
async def test_a_waiting_call_holds_no_object_of_the_sdk_and_two_tasks(house: House) -> None:
    async def tasks() -> int:
        return len(asyncio.all_tasks())

    async with client_of(house) as client:
        # The first one opens the connection, and makes what is made once.
        warm = asyncio.create_task(client.post("/mcp", json=asking()))
        [first] = await asyncio.to_thread(house.opened)
        await asyncio.to_thread(house.answer, first.id, "a")
        await warm
        objects, before = sdk_objects(), await asyncio.to_thread(lambda: house.run(tasks()))
        calls = [asyncio.create_task(client.post("/mcp", json=asking(number))) for number in range(CALLS)]
        inquiries = await asyncio.to_thread(house.opened, CALLS)
        assert sdk_objects() <= objects
        assert await asyncio.to_thread(lambda: house.run(tasks())) <= before + 2 * CALLS
        for inquiry in inquiries:
            await asyncio.to_thread(house.answer, inquiry.id, "b")
        for call in calls:
            reply = await call
            assert reply.headers["content-type"] == "application/json"
            assert reply.json()["result"]["structuredContent"]["answers"] == [["b"]]


@pytest.mark.promise("proof/21")
async def test_a_call_that_is_over_leaves_nothing_for_the_collector(house: House) -> None:
    def left() -> int:
        kinds = (HttpConnection, RequestResponseCycle)
        return sum(isinstance(each, kinds) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = left()
        async with client_of(house) as client:
            call = asyncio.create_task(client.post("/mcp", json=asking()))
            [inquiry] = await asyncio.to_thread(house.opened)
            assert left() > before
            await asyncio.to_thread(house.answer, inquiry.id, "a")
            assert (await call).status_code == 200
        async with asyncio.timeout(PATIENCE):
            while left() > before:  # noqa: ASYNC110 - objects have no event
                await asyncio.sleep(0.01)
    finally:
        gc.enable()


async def test_a_call_that_asks_for_no_progress_is_kept_alive_by_a_comment(lively: House) -> None:
    async with client_of(lively) as client, client.stream("POST", "/mcp", json=asking()) as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        lines = stream.aiter_lines()
        assert await anext(lines) == ": ping"
        [inquiry] = await asyncio.to_thread(lively.opened)
        await asyncio.to_thread(lively.answer, inquiry.id, "a")
        [told] = [json.loads(line.removeprefix("data: ")) async for line in lines if line.startswith("data")]
        assert told["id"] == 7
        assert told["result"]["structuredContent"]["answers"] == [["a"]]


async def test_signs_of_life_carry_the_token_of_the_call(lively: House) -> None:
    sent = asking(progressToken="p")
    async with client_of(lively) as client, client.stream("POST", "/mcp", json=sent) as stream:
        shown: list[dict[str, object]] = []
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                shown.append(json.loads(line.removeprefix("data: "))["params"])
            if len(shown) == 2:
                break
        assert [(each["progressToken"], each["progress"]) for each in shown] == [("p", 1), ("p", 2)]


async def test_a_client_that_leaves_waits_no_longer_and_its_question_stays_open(lively: House) -> None:
    async def gone() -> None:
        async with asyncio.timeout(PATIENCE):
            while lively.broker.waiting:  # noqa: ASYNC110 - a waiter that leaves has no event
                await asyncio.sleep(0.01)

    async with client_of(lively) as client:
        async with client.stream("POST", "/mcp", json=asking()) as stream:
            assert await anext(stream.aiter_lines()) == ": ping"
        await asyncio.to_thread(lambda: lively.run(gone()))
    [inquiry] = await asyncio.to_thread(lively.opened)
    assert inquiry.is_open


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Name": "notify_human"}, 400),
        ({"Accept": "application/json"}, 406),
        ({"Content-Type": "text/plain"}, 400),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
async def test_what_is_out_of_the_ordinary_is_told_what_the_sdk_says(
    house: House, headers: dict[str, str], status: int
) -> None:
    async with client_of(house) as client:
        reply = await client.post("/mcp", json=asking(), headers=headers)
        assert reply.status_code == status
