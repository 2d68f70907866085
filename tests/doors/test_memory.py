"""What clients leave in the daemon's memory when they are gone: the same after twice as many of them, at every door."""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import httpx2
import pytest

from tests.doors.agent import INITIALIZE
from tests.doors.house import AGENT_TOKEN, PATIENCE, House
from tests.memory import ours
from tests.plain_http import plain_client
from tests.web.house import until
from upcall.domain.roles import Caller, Role

CLIENTS = 12
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
SESSION = "mcp-session-id"


class Street:
    """Where clients come from. Each of them asks one question, gets its answer, and leaves."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.count = 0

    def client(self, token: str = AGENT_TOKEN) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}", **JSON}
        return plain_client(base_url=self.house.url, headers=headers, timeout=PATIENCE, trust_env=False)

    def asked(self) -> dict[str, object]:
        self.count += 1
        return {"question": f"Which of {self.count}?", "options": ["a", "b"]}

    def call(self) -> dict[str, object]:
        params = {"name": "ask_human", "arguments": self.asked()}
        return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}

    async def answered(self, text: str = "a") -> str:
        """Answer the one question that is open."""
        (inquiry,) = await asyncio.to_thread(self.house.opened)
        await asyncio.to_thread(self.house.answer, inquiry.id, text)
        return inquiry.id

    async def over_http(self) -> None:
        async with self.client() as client:
            asked = await client.post("/v1/inquiries", json={**self.asked(), "session": f"s{self.count}"})
            name = asked.json()["id"]
            waiting = asyncio.create_task(client.get(f"/v1/inquiries/{name}/wait"))
            await self.answered()
            assert (await waiting).json()["state"] == "answered"
            assert (await client.post(f"/v1/inquiries/{name}/collect")).status_code == 200

    async def over_a_stream(self) -> None:
        async with self.client() as client, client.stream("GET", "/v1/stream") as stream:
            await client.post("/v1/inquiries", json={**self.asked(), "session": f"s{self.count}"})
            await self.answered()
            async for line in stream.aiter_lines():
                if line == "event: answered":
                    return

    async def over_a_pipe(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.house.pipes.port)

        async def said(*messages: dict[str, object]) -> None:
            writer.writelines(json.dumps(message).encode() + b"\n" for message in messages)
            await writer.drain()

        call = self.call()
        hello = {"upcall": "pipe", "protocol": 2, "token": AGENT_TOKEN, "pipe": f"p{self.count}"}
        await said(
            {**hello, "session": f"s{self.count}", "program": "claude", "workspace": f"/w{self.count}"},
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
            call,
        )
        await self.answered()
        while json.loads(await reader.readline()).get("id") != 2:
            pass
        writer.close()
        await writer.wait_closed()

    async def over_mcp(self) -> None:
        async with self.client() as client:
            await self.in_a_session(client)
            assert (await client.delete("/mcp")).status_code == 200

    async def over_mcp_as_a_run(self) -> None:
        """A run that ends without closing its session: only its token tells that the session is over."""
        secret = f"upcall_run_{self.count:040}"
        hashed = hashlib.sha256(secret.encode()).hexdigest()
        caller = Caller(name="claude", role=Role.AGENT, run=self.count + 1, runner="here")
        self.house.access.lend(hashed, caller)
        async with self.client(secret) as client:
            await self.in_a_session(client)
        self.house.access.take_back(hashed)

    async def in_a_session(self, client: httpx2.AsyncClient) -> None:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        client.headers[SESSION] = (await client.post("/mcp", json=hello)).headers[SESSION]
        await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        calling = asyncio.create_task(client.post("/mcp", json=self.call()))
        await self.answered()
        assert (await calling).status_code == 200

    async def over_older_sse(self) -> None:
        async with self.client() as client, client.stream("GET", "/sse") as stream:
            lines = stream.aiter_lines()
            path = await _data(lines)
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            await client.post(path, json=hello)
            await _data(lines)
            await client.post(path, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            await client.post(path, json=self.call())
            await self.answered()
            assert json.loads(await _data(lines))["id"] == 2

    async def at_a_hook(self) -> None:
        sent = {
            "hook_event_name": "PreToolUse",
            "session_id": f"s{self.count}",
            "tool_name": "Bash",
            "tool_input": {"command": f"make {self.asked()['question']}"},
            "tool_use_id": f"toolu_{self.count}",
            "cwd": "/w",
        }
        async with self.client() as client:
            asking = asyncio.create_task(client.post("/hooks/claude", json=sent))
            await self.answered("approve")
            assert (await asking).status_code == 200


async def _data(lines: AsyncIterator[str]) -> str:
    async for line in lines:
        if line.startswith("data:"):
            return line.removeprefix("data:").strip()
    raise AssertionError("the stream has ended")


Visit = Callable[[Street], Awaitable[None]]


@pytest.mark.promise("trust/42")
@pytest.mark.parametrize(
    "visit",
    [
        Street.over_http,
        Street.over_a_stream,
        Street.over_a_pipe,
        Street.over_mcp,
        Street.over_mcp_as_a_run,
        Street.over_older_sse,
        Street.at_a_hook,
    ],
    ids=lambda visit: visit.__name__,
)
async def test_twice_as_many_clients_leave_no_more_in_memory(house: House, visit: Visit) -> None:
    street = Street(house)

    async def crowd() -> None:
        for _ in range(CLIENTS):
            await visit(street)

    await crowd()
    once = ours(without_caches=True)
    await crowd()
    deadline = time.monotonic() + PATIENCE
    # What the last of them leave is cleared up after they have gone.
    while (grown := _grown(once)) and time.monotonic() < deadline:  # noqa: ASYNC110 - objects have no event
        await asyncio.sleep(0.05)
    assert grown == {}


@pytest.mark.promise("proof/30")
async def test_a_pipe_that_goes_on_asking_is_remembered_for_no_question_that_was_answered(
    house: House,
) -> None:
    street, asking = Street(house), house.pipes.held.asking
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", house.pipes.port)
        hello = {"upcall": "pipe", "protocol": 2, "token": AGENT_TOKEN, "pipe": "p", "wait": "block"}
        greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        writer.writelines(json.dumps(message).encode() + b"\n" for message in (hello, greeting))
        for _ in range(3):
            writer.write(json.dumps(street.call()).encode() + b"\n")
            (inquiry,) = await asyncio.to_thread(house.opened)
            await until(partial(asking.__contains__, inquiry.id))
            await asyncio.to_thread(house.answer, inquiry.id, "a")
            while json.loads(await reader.readline()).get("id") != 2:
                pass
        await until(lambda: not asking)
        writer.close()
        await writer.wait_closed()


def _grown(once: Counter[str]) -> dict[str, tuple[int, int]]:
    now = ours(without_caches=True)
    return {name: (once[name], count) for name, count in now.items() if count >= once[name] + CLIENTS // 2}
