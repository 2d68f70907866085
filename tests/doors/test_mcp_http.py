"""The HTTP doors as the official SDK's own client finds them, in both eras and over the older SSE."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.doors.agent import INITIALIZE
from tests.doors.house import AGENT_TOKEN, OTHER_TOKEN, PATIENCE, House
from tests.plain_http import plain_client
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.doors.mcp.server import McpDoor

QUESTION = {"question": "Which cache?", "options": ["Redis", "None"]}
DOORS = ["modern", "legacy", "sse"]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"accept": "application/json, text/event-stream"}
MODERN_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "ask_human",
}


@asynccontextmanager
async def connected(
    house: House, door: str, *, token: str = AGENT_TOKEN, wait: str = "block"
) -> AsyncIterator[Client]:
    """The official client, through one of the doors."""
    headers = {"Authorization": f"Bearer {token}", "Upcall-Wait": wait}
    if door == "sse":
        async with Client(sse_client(f"{house.url}/sse", headers=headers), mode="legacy") as client:
            yield client
        return
    async with plain_client(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"{house.url}/mcp", http_client=http)
        async with Client(transport, mode="legacy" if door == "legacy" else "2026-07-28") as client:
            yield client


async def opened(house: House, count: int = 1) -> list[Inquiry]:
    return list(await asyncio.to_thread(house.opened, count))


@pytest.mark.parametrize("door", DOORS)
async def test_the_tools_are_listed_with_what_agents_need_to_see_them(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert set(tools) == {"ask_human", "confirm_action", "wait_for_answer", "notify_human"}
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.meta == {"anthropic/alwaysLoad": True}


@pytest.mark.promise("spec/57")
@pytest.mark.parametrize("door", DOORS)
async def test_an_answer_comes_back_and_the_next_message_proves_it(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        call = asyncio.create_task(agent.call_tool("ask_human", QUESTION))
        [inquiry] = await opened(house)
        await asyncio.to_thread(house.answer, inquiry.id, "1")
        result = await call
        assert not result.is_error
        assert result.structured_content is not None
        assert result.structured_content["answers"] == [["Redis"]]
        assert (inquiry.origin.agent, inquiry.origin.door) == ("local", "mcp")
        await agent.call_tool("notify_human", {"message": "thanks"})
        assert (await asyncio.to_thread(house.happened, "collected")).inquiry == inquiry.id


@pytest.mark.parametrize("door", DOORS)
async def test_a_token_that_is_revoked_does_not_get_the_answer_it_waited_for(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        call = asyncio.create_task(agent.call_tool("ask_human", QUESTION))
        [inquiry] = await opened(house)
        assert await asyncio.to_thread(house.run, house.access.revoke("local"))
        await asyncio.to_thread(house.answer, inquiry.id, "1")
        told = await call
        assert told.is_error
        assert told.structured_content is not None
        assert told.structured_content["error"]["code"] == "unauthenticated"
        assert "Redis" not in told.model_dump_json()


@pytest.mark.promise("spec/61")
@pytest.mark.parametrize("door", DOORS)
async def test_an_unknown_client_is_parked_and_takes_it_up_again(tmp_path: Path, door: str) -> None:
    house = House(tmp_path / "home", slice_seconds=0.05)
    house.start()
    try:
        async with connected(house, door, wait="") as agent:
            parked = (await agent.call_tool("ask_human", QUESTION)).structured_content
            assert parked is not None
            assert parked["status"] == "parked"
            await asyncio.to_thread(house.answer, parked["ref"], "2")
            settled = (await agent.call_tool("wait_for_answer", {"id": parked["id"]})).structured_content
            assert settled is not None
            assert settled["answers"] == [["None"]]
    finally:
        await asyncio.to_thread(house.stop)


@pytest.mark.promise("spec/176")
@pytest.mark.parametrize("door", DOORS)
async def test_a_bad_call_is_an_error_that_teaches(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        result = await agent.call_tool("ask_human", {"question": "?", "options": list("abcdefghijk")})
        assert result.is_error
        assert result.structured_content is not None
        assert result.structured_content["error"]["code"] == "invalid_inquiry"
        unknown = await agent.call_tool("no_such_tool", {})
        assert unknown.is_error


@pytest.mark.promise("spec/61")
@pytest.mark.parametrize("door", DOORS)
async def test_signs_of_life_reach_a_client_that_wants_them(tmp_path: Path, door: str) -> None:
    house = House(tmp_path / "home")
    house.beat = 0.15
    house.start()
    beats: asyncio.Queue[float] = asyncio.Queue()

    async def noted(progress: float, total: float | None, message: str | None) -> None:
        beats.put_nowait(progress)

    try:
        async with connected(house, door) as agent:
            call = asyncio.create_task(agent.call_tool("ask_human", QUESTION, progress_callback=noted))
            async with asyncio.timeout(PATIENCE):
                assert [await beats.get() for _ in range(3)] == [1, 2, 3]
            await asyncio.to_thread(house.answer, (await opened(house))[0].id, "1")
            assert not (await call).is_error
    finally:
        await asyncio.to_thread(house.stop)


@pytest.mark.parametrize("door", DOORS)
async def test_a_client_that_goes_away_leaves_its_question_open(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        call = asyncio.create_task(agent.call_tool("ask_human", QUESTION))
        [inquiry] = await opened(house)
        call.cancel()
        await asyncio.wait({call}, timeout=PATIENCE)
    assert (await asyncio.to_thread(house.opened))[0].id == inquiry.id


@pytest.mark.promise("spec/41")
@pytest.mark.parametrize("door", ["modern", "legacy"])
async def test_when_upcall_closes_every_waiting_call_is_parked(house: House, door: str) -> None:
    async with connected(house, door) as agent:
        call = asyncio.create_task(agent.call_tool("ask_human", QUESTION))
        await opened(house)
        await asyncio.to_thread(house.run, house.broker.close())
        result = (await call).structured_content
        assert result is not None
        assert result["status"] == "parked"


async def test_what_a_client_says_about_itself_is_kept(house: House) -> None:
    meta: Any = {"callId": "call_7", "x-codex-turn-metadata": {"thread_id": "thread-1", "session_id": "s"}}
    async with connected(house, "legacy") as agent:
        first = asyncio.create_task(agent.call_tool("ask_human", QUESTION, meta=meta))
        [inquiry] = await opened(house)
        assert inquiry.origin.session == "thread-1"
        assert inquiry.origin.request_key == "call_7"
        again = asyncio.create_task(agent.call_tool("ask_human", QUESTION, meta=meta))
        await asyncio.to_thread(house.answer, inquiry.id, "1")
        assert (await first).structured_content == (await again).structured_content
    assert (await asyncio.to_thread(house.history)).count("asked") == 1


async def test_one_agent_is_no_evidence_for_another_with_the_same_token(house: House) -> None:
    async with connected(house, "modern") as one, connected(house, "modern") as other:
        # Otherwise the client lists the tools after its first call, which is evidence of its own.
        await one.list_tools()
        call = asyncio.create_task(one.call_tool("ask_human", QUESTION))
        await asyncio.to_thread(house.answer, (await opened(house))[0].id, "1")
        await call
        await other.call_tool("notify_human", {"message": "hello"})
        await asyncio.to_thread(house.run, house.tools.evidence.settled())
        assert "collected" not in await asyncio.to_thread(house.history)


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    async with plain_client(base_url=house.url, timeout=PATIENCE) as http:
        yield http


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/sse"), ("POST", "/messages/")])
@pytest.mark.parametrize("header", ["", "Bearer wrong", "Basic dTpw"])
async def test_without_a_token_there_is_nothing_to_see(
    http: httpx2.AsyncClient, method: str, path: str, header: str
) -> None:
    reply = await http.request(method, path, headers={"authorization": header})
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert reply.json()["error"]["code"] == "unauthenticated"
    assert reply.json()["error"]["hint"]


async def test_arguments_that_are_no_object_get_an_error_that_teaches(http: httpx2.AsyncClient) -> None:
    params = {"name": "ask_human", "arguments": [1], "_meta": MODERN}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await http.post("/mcp", json=message, headers=MODERN_HEADERS | bearer(AGENT_TOKEN))
    assert reply.json()["result"]["isError"]
    assert "arguments" in reply.json()["result"]["content"][0]["text"]


async def initialized(http: httpx2.AsyncClient, token: str = AGENT_TOKEN) -> dict[str, str]:
    """The headers of a session of the older era that was just opened."""
    headers = {"accept": "application/json, text/event-stream", **bearer(token)}
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    reply = await http.post("/mcp", json=message, headers=headers)
    headers |= {"mcp-session-id": reply.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


@pytest.mark.promise("trust/34")
@pytest.mark.parametrize("path", ["/mcp", "/mcp in a session", "/hooks/claude", "/v1/pipe"])
@pytest.mark.parametrize(
    "value",
    [r'"\ud800"', "NaN", "1e999", "1" + "0" * 5000, "[" * 600 + "]" * 600, "[" * 50_000 + "]" * 50_000],
    ids=["half a character", "no number", "infinity", "digits", "deep", "deeper"],
)
async def test_unfit_json_is_an_error_of_its_sender_at_every_door(
    http: httpx2.AsyncClient, path: str, value: str
) -> None:
    headers = bearer(AGENT_TOKEN) | MODERN_HEADERS
    if path == "/mcp in a session":
        headers = await initialized(http)
    params = f'{{"name": "notify_human", "arguments": {{"message": "Done.", "n": {value}}}, "_meta": {{"x": {value}}}}}'
    body = f'{{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {params}}}'
    if path == "/v1/pipe":
        body = f'{{"upcall": "pipe", "protocol": 2, "pipe": "p"}}\n{body}'
    reply = await http.post(path.split(maxsplit=1)[0], content=body, headers=headers)
    assert reply.status_code < 500, reply.text
    assert "Internal" not in reply.text
    assert (await http.get("/livez")).status_code == 200


def allow_two_sessions(house: House) -> None:
    def limit(door: McpDoor) -> None:
        door.sessions.most = 2

    house.stop()
    house.prepare = limit
    house.start()


@pytest.mark.promise("trust/37")
async def test_a_token_has_a_limited_number_of_sessions(house: House, http: httpx2.AsyncClient) -> None:
    allow_two_sessions(house)
    http.base_url = httpx2.URL(house.url)
    first, _ = await initialized(http), await initialized(http)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    refused = await http.post("/mcp", json=message, headers=bearer(AGENT_TOKEN) | ACCEPT)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert "caps.mcp_sessions" in refused.json()["error"]["hint"]
    # Another token has its own, and a session that was ended makes room.
    assert await initialized(http, OTHER_TOKEN)
    assert (await http.delete("/mcp", headers=first)).status_code == 200
    assert await initialized(http)


@asynccontextmanager
async def streaming(
    http: httpx2.AsyncClient, token: str = AGENT_TOKEN
) -> AsyncIterator[tuple[httpx2.Response, str]]:
    """A connection of the older transport, once it was told where to post; nowhere if it was refused."""
    async with http.stream("GET", "/sse", headers=bearer(token) | ACCEPT) as stream:
        # Reading is not finished before the block is: that would close the connection.
        events = _events(stream)
        if stream.status_code == 200:
            yield stream, (await anext(events))["data"]
        else:
            await stream.aread()
            yield stream, ""


@pytest.mark.promise("trust/87")
async def test_older_streams_count_as_sessions_of_their_token(house: House, http: httpx2.AsyncClient) -> None:
    allow_two_sessions(house)
    http.base_url = httpx2.URL(house.url)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    headers = bearer(AGENT_TOKEN) | ACCEPT
    session = await initialized(http)
    async with streaming(http):
        async with streaming(http) as (refused, _):
            error = refused.json()["error"]
            assert (refused.status_code, error["code"]) == (429, "rate_limited")
            assert "caps.mcp_sessions" in error["hint"]
        assert (await http.post("/mcp", json=message, headers=headers)).status_code == 429
        async with streaming(http, OTHER_TOKEN) as (other, _):
            assert other.status_code == 200
        # A session that was ended makes room for a stream.
        assert (await http.delete("/mcp", headers=session)).status_code == 200
        async with streaming(http) as (second, _):
            assert second.status_code == 200
            assert (await http.post("/mcp", json=message, headers=headers)).status_code == 429
    # So does a stream that was closed, as soon as the daemon has noticed.
    async with asyncio.timeout(PATIENCE):
        while (await http.post("/mcp", json=message, headers=headers)).status_code == 429:
            pass


async def test_a_session_belongs_to_the_token_that_opened_it(http: httpx2.AsyncClient) -> None:
    headers = await initialized(http)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert (await http.post("/mcp", json=message, headers=headers)).status_code == 200
    stolen = headers | bearer(OTHER_TOKEN)
    assert (await http.post("/mcp", json=message, headers=stolen)).status_code == 404


async def test_a_stream_that_broke_is_resumed_where_it_was(house: House, http: httpx2.AsyncClient) -> None:
    others = [await initialized(http), await initialized(http)]
    headers = await initialized(http)
    params = {"name": "ask_human", "arguments": QUESTION}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    for other in others:
        # Request ids repeat from session to session; what belongs to one is never replayed to another.
        await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=other)
    blocking = headers | {"upcall-wait": "block"}
    async with http.stream("POST", "/mcp", json=message, headers=blocking) as stream:
        event = await anext(_events(stream))
        [inquiry] = await opened(house)
    await asyncio.to_thread(house.answer, inquiry.id, "1")
    resuming = headers | {"last-event-id": event["id"]}
    results = []
    async with http.stream("GET", "/mcp", headers=resuming) as stream, asyncio.timeout(PATIENCE):
        async for event in _events(stream):
            if event.get("data"):
                results.append(json.loads(event["data"])["result"])
                break
    assert [result["structuredContent"]["answers"] for result in results] == [[["Redis"]]]


@pytest.mark.promise("spec/61")
async def test_a_silent_stream_is_kept_alive_in_both_eras(
    house: House, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.server._streamable_http_modern._SSE_PING_INTERVAL", 0.05)
    monkeypatch.setattr("sse_starlette.sse.EventSourceResponse.DEFAULT_PING_INTERVAL", 0.05)
    legacy = await initialized(http)
    for headers, meta in ((MODERN_HEADERS | bearer(AGENT_TOKEN), MODERN), (legacy, {})):
        params = {"name": "ask_human", "arguments": QUESTION, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers |= {"upcall-wait": "block"}
        async with http.stream("POST", "/mcp", json=message, headers=headers) as stream:
            async with asyncio.timeout(PATIENCE):
                async for line in stream.aiter_lines():
                    if line.startswith(": ping"):
                        break


async def _events(stream: httpx2.Response) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in stream.aiter_lines():
        name, _, value = line.partition(":")
        if name:
            event[name] = value.strip()
        elif event:
            yield event
            event = {}


@pytest.mark.parametrize("door", DOORS)
async def test_a_call_may_name_its_thread(house: House, door: str) -> None:
    meta: Any = {"upcall/thread": "shop-42"}
    async with connected(house, door) as agent:
        call = asyncio.create_task(agent.call_tool("ask_human", QUESTION, meta=meta))
        [inquiry] = await opened(house)
        assert inquiry.origin.thread == "shop-42"
        await asyncio.to_thread(house.answer, inquiry.id, "1")
        result = await call
        assert result.structured_content is not None
        assert result.structured_content["answers"] == [["Redis"]]
