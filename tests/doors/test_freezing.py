"""Messages that agents send over HTTP do not hold up the daemon's loop, whichever parser reads them.

The time is that of the loop's own thread: see `tests/adversary/heartbeat.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest

from tests.adversary.freezing import messages
from tests.adversary.heartbeat import Heartbeat, held_up, settled_heap
from tests.doors.house import AGENT_TOKEN, PATIENCE, House
from tests.doors.test_mcp_http import MODERN_HEADERS, initialized, streaming
from tests.plain_http import plain_client
from upcall.doors.mcp.message_body import LARGEST_MESSAGE, LARGEST_OLDER_MESSAGE

KNOWN = {"authorization": f"Bearer {AGENT_TOKEN}"}
TAKEN = {200, 202, 400, 413, 422}
HELLO = b'{"upcall": "pipe", "protocol": 2, "pipe": "p", "wait": 0.001}\n'
NO_WAIT = {"upcall-wait": "0.001", "content-type": "application/json"}


@pytest.fixture(autouse=True)
def heap() -> Iterator[None]:
    with settled_heap():
        yield


@asynccontextmanager
async def watching(house: House) -> AsyncIterator[Heartbeat]:
    """Watch the daemon's loop, which is not the test's."""
    watched = Heartbeat()

    async def begin() -> "asyncio.Task[None]":
        return asyncio.create_task(watched.beat())

    async def end(task: "asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    task = await asyncio.to_thread(lambda: house.run(begin()))
    try:
        yield watched
    finally:
        await asyncio.to_thread(lambda: house.run(end(task)))


@asynccontextmanager
async def way_in(http: httpx2.AsyncClient, door: str) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """The address and the headers with which a message is posted."""
    match door:
        case "/mcp":
            yield "/mcp", KNOWN | MODERN_HEADERS
        case "/mcp in a session":
            yield "/mcp", await initialized(http)
        case "/sse":
            async with streaming(http) as (_, endpoint):
                yield endpoint, KNOWN
        case _:
            yield door, KNOWN


@pytest.mark.promise("trust/17")
@pytest.mark.parametrize("door", ["/mcp", "/mcp in a session", "/sse", "/v1/pipe"])
async def test_no_message_holds_up_the_loop(house: House, door: str) -> None:
    held: dict[str, float] = {}
    async with (
        plain_client(base_url=house.url, timeout=PATIENCE) as http,
        way_in(http, door) as (path, headers),
    ):
        first = HELLO if door == "/v1/pipe" else b""
        largest = LARGEST_OLDER_MESSAGE if door == "/sse" else LARGEST_MESSAGE
        for name, message in messages(largest):

            async def posted(name: str = name, message: bytes = message) -> None:
                reply = await http.post(path, content=first + message, headers=headers | NO_WAIT)
                assert reply.status_code in TAKEN, (name, reply.text)
                assert (await http.get("/livez")).status_code == 200

            if longest := await held_up(posted, watch=partial(watching, house)):
                held[name] = longest
    assert held == {}
