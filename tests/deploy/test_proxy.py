"""Several daemons behind the nginx that we hand out: sessions find their way back, and nothing is held up on its way."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.deploy.conftest import NAMES, Cluster
from upcall.testing.agent import StdioAgent

Json = dict[str, Any]
SECONDS = 60.0
INITIALIZE: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
CACHE: Json = {"question": "Which cache?", "options": ["Redis", "Memcached"]}


@asynccontextmanager
async def http(token: str, url: str) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=SECONDS) as client:
        yield client


async def send(
    client: httpx2.AsyncClient, method: str, session: str = "", **params: object
) -> httpx2.Response:
    """One message of the older streamable transport."""
    headers = {"Mcp-Session-Id": session} if session else {}
    return await client.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}, headers=headers
    )


async def open_session(client: httpx2.AsyncClient) -> str:
    opened = await send(client, "initialize", params=INITIALIZE)
    assert opened.status_code == 200, opened.text
    session: str = opened.headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("/mcp", json=ready, headers={"Mcp-Session-Id": session})).status_code == 202
    return session


async def sessions(client: httpx2.AsyncClient) -> dict[str, str]:
    """A session at each of the daemons."""
    found: dict[str, str] = {}
    async with asyncio.timeout(SECONDS):
        while len(found) < len(NAMES):
            session = await open_session(client)
            found[session.partition(".")[0]] = session
    assert set(found) == set(NAMES)
    return found


async def asked(cluster: Cluster, name: str = "upcall-0") -> Json:
    """The question that is open, as soon as there is one."""
    async with http(cluster.token("owner", name), cluster.address(name)) as person:
        after = 0
        while True:
            page = (await person.get("/v1/events", params={"after": after, "wait": 30})).json()
            for event in page["items"]:
                after = event["seq"]
            items: list[Json] = (await person.get("/v1/inquiries", params={"state": "open"})).json()["items"]
            if items:
                return items[0]


async def answer(cluster: Cluster, name: str, inquiry: Json) -> None:
    """Say something at one of the daemons itself."""
    async with http(cluster.token("owner", name), cluster.address(name)) as person:
        path = f"/v1/inquiries/{inquiry['id']}/answer"
        assert (await person.post(path, json={"text": "2"})).json()["accepted"]


async def test_what_belongs_to_a_session_finds_the_daemon_that_has_it(cluster: Cluster) -> None:
    async with http(cluster.token("agent"), cluster.url) as agent:
        for session in (await sessions(agent)).values():
            for _ in range(4):
                listed = await send(agent, "tools/list", session)
                assert (listed.status_code, "ask_human" in listed.text) == (200, True)


@pytest.mark.parametrize("transport", ["streamable", "sse", "sse-with-token-in-path"])
async def test_an_answer_arrives_at_once_however_it_is_waited_for(cluster: Cluster, transport: str) -> None:
    headers = {"Authorization": f"Bearer {cluster.token('agent')}", "Upcall-Wait": "block"}
    async with asyncio.timeout(SECONDS), httpx2.AsyncClient(headers=headers, timeout=SECONDS) as carrier:
        if transport == "sse":
            way = sse_client(f"{cluster.url}/sse", headers=headers)
        elif transport == "sse-with-token-in-path":
            way = sse_client(f"{cluster.url}/sse/{cluster.token('agent')}", headers={"Upcall-Wait": "block"})
        else:
            way = streamable_http_client(f"{cluster.url}/mcp", http_client=carrier)
        async with Client(way, mode="legacy") as agent:
            call = asyncio.create_task(agent.call_tool("ask_human", CACHE))
            inquiry = await asked(cluster)
            for name in NAMES:
                # Wherever the agent waits, one of these is another daemon; the second is told that it is late.
                async with http(cluster.token("owner", name), cluster.address(name)) as person:
                    await person.post(f"/v1/inquiries/{inquiry['id']}/answer", json={"text": "2"})
            result = await call
    assert result.structured_content is not None
    assert result.structured_content["answers"] == [["Memcached"]]


async def test_a_stream_is_passed_on_event_by_event(cluster: Cluster) -> None:
    async with asyncio.timeout(SECONDS), http(cluster.token("owner"), cluster.url) as person:
        after = (await person.get("/v1/events", params={"after": 2**53 - 1, "limit": 1})).json()["next_after"]
        async with person.stream("GET", "/v1/stream", params={"after": after}) as stream:
            lines = stream.aiter_lines()
            made = (await person.post("/v1/inquiries", json={"question": "Which port?"})).json()
            async for line in lines:
                if line.startswith("data:") and json.loads(line[5:]).get("inquiry") == made["id"]:
                    break
        await answer(cluster, "upcall-1", made)


async def test_the_clients_of_a_daemon_that_was_killed_hear_so_and_begin_anew(cluster: Cluster) -> None:
    async with http(cluster.token("agent", "upcall-1"), cluster.url) as agent:
        session = (await sessions(agent))["upcall-0"]
        await asyncio.to_thread(cluster.kill, "upcall-0")
        gone = await send(agent, "tools/list", session)
        assert gone.status_code == 404, gone.text
        # What the protocol says for it: the client has to begin a new session.
        assert (gone.status_code, gone.json()["error"]["message"]) == (404, "Session not found")
        anew = await open_session(agent)
        assert (anew.partition(".")[0], (await send(agent, "tools/list", anew)).status_code) == (
            "upcall-1",
            200,
        )
    await asyncio.to_thread(cluster.start, "upcall-0")


async def test_pipes_go_on_when_a_daemon_is_killed(cluster: Cluster) -> None:
    way = {"UPCALL_URL": cluster.url, "UPCALL_TOKEN": cluster.token("agent", "upcall-1")}
    agents = [await asyncio.to_thread(lambda: StdioAgent(environment=way)) for _ in NAMES]
    # Those who wait are spread over the daemons.
    calls: list[asyncio.Task[Json]] = []
    for agent in agents:
        calls.append(asyncio.create_task(asyncio.to_thread(agent.call, "ask_human", CACHE)))
        await asyncio.to_thread(cluster.daemons["upcall-1"], "status")
    await asyncio.to_thread(cluster.kill, "upcall-0")
    async with asyncio.timeout(SECONDS):
        for _ in agents:
            await answer(cluster, "upcall-1", await asked(cluster, "upcall-1"))
        for call in calls:
            result: Json = await call
            assert result["structuredContent"]["answers"] == [["Memcached"]]
    for agent in agents:
        agent.close()
    await asyncio.to_thread(cluster.start, "upcall-0")


async def test_whoever_signs_in_at_one_daemon_is_signed_in_at_the_other(cluster: Cluster) -> None:
    # As the proxy passes it on: the cookie's name is the same for both.
    host = {"Host": cluster.url.removeprefix("http://")}
    async with http(cluster.token("owner"), cluster.address("upcall-0")) as person:
        link = (await person.post("/v1/sign-in-links", headers=host)).json()["url"]
    form = {"code": link.partition("code=")[2]}
    ours = host | {"Origin": cluster.url}
    async with (
        httpx2.AsyncClient(base_url=cluster.address("upcall-0"), timeout=SECONDS) as here,
        httpx2.AsyncClient(base_url=cluster.address("upcall-1"), timeout=SECONDS) as there,
    ):
        entered = await there.post("/sign-in", headers=ours, data=form)
        assert entered.status_code == 303, entered.text
        cookie = entered.headers["set-cookie"].partition(";")[0]
        page = await here.get("/", headers=host | {"Cookie": cookie, "Accept": "text/html"})
        assert page.status_code == 200
        # And once is once, wherever.
        assert (await here.post("/sign-in", headers=ours, data=form)).status_code == 410
