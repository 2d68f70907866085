"""HTTP and MCP from the other side, as cheap as Python can be: one Protocol for each connection."""

import asyncio
import json
import time
from typing import Any, cast
from urllib.parse import quote

from typing_extensions import override

from benchmarks.daemon import Daemon

MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"
_END = b"\r\n0\r\n\r\n"
Json = dict[str, Any]


class Connection(asyncio.Protocol):
    """A connection that is kept alive; one request at a time. `arrived` is when its last response was complete."""

    __slots__ = ("_buffer", "_reply", "_transport", "arrived")

    def __init__(self) -> None:
        self._buffer = b""
        self._reply: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self.arrived = 0.0

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if complete(self._buffer):
            self.arrived = time.perf_counter()
            reply, self._reply = self._reply, None
            whole, self._buffer = self._buffer, b""
            if reply is not None and not reply.done():
                reply.set_result(whole)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionError(f"lost after {self._buffer[:300]!r}"))

    def send(self, request: bytes) -> "asyncio.Future[bytes]":
        """Send a request; the whole response comes later."""
        assert self._transport is not None
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._reply = reply
        self._transport.write(request)
        return reply

    def close(self) -> None:
        assert self._transport is not None
        self._transport.abort()


async def connect(host: str, port: int) -> Connection:
    """A new connection."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection


def complete(received: bytes) -> bool:
    """Whether a response is all there."""
    head = received.find(b"\r\n\r\n")
    if head < 0:
        return False
    length = received.find(b"content-length: ", 0, head)
    if length < 0:
        return received.endswith(_END)
    return len(received) >= head + 4 + int(received[length + 16 : received.find(b"\r\n", length)])


def request(
    method: str, path: str, address: str, token: str, body: object = None, headers: str = ""
) -> bytes:
    """A request in bytes."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return f"{head}\r\n".encode() + content


def body_of(response: bytes) -> Json:
    """The document in a response.

    Raises:
        ConnectionError: if the request was refused.
    """
    head, _, body = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 2"):
        raise ConnectionError(f"refused: {response[:500]!r}")
    document: Json = json.loads(body)
    return document


def asking(text: str) -> Json:
    """What agents ask in these measurements."""
    return {"question": text, "header": "Cache", "options": ["Redis", "Memcached", "None"]}


def tool_call(daemon: Daemon, text: str) -> bytes:
    """An MCP call that blocks until it is answered, sent as today's clients send it."""
    meta = {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientInfo": {"name": "bench", "version": "1"},
        f"{_META}clientCapabilities": {},
        "progressToken": 1,
    }
    params = {"name": "ask_human", "arguments": asking(text), "_meta": meta}
    headers = (
        "Accept: application/json, text/event-stream\r\nUpcall-Wait: block\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: ask_human\r\n"
    )
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return request("POST", "/mcp", daemon.address, daemon.agent, message, headers)


class Person:
    """A client of a daemon's API."""

    def __init__(self, daemon: Daemon, connection: Connection) -> None:
        self._daemon = daemon
        self._connection = connection
        self._after = 0

    @classmethod
    async def at(cls, daemon: Daemon) -> "Person":
        return cls(daemon, await connect(daemon.host, daemon.port))

    def answer(self, name: str, text: str) -> "asyncio.Future[bytes]":
        """Send an answer at once; what comes of it comes later."""
        path = f"/v1/inquiries/{name}/answer"
        return self._connection.send(
            request("POST", path, self._daemon.address, self._daemon.person, {"text": text})
        )

    async def get(self, path: str) -> Json:
        return body_of(await self.read(path))

    async def read(self, path: str) -> bytes:
        return await self._connection.send(request("GET", path, self._daemon.address, self._daemon.person))

    async def next_question(self) -> str:
        """The id of the question that is asked next."""
        while True:
            for event in (await self.get(f"/v1/events?after={self._after}&wait=30"))["items"]:
                self._after = event["seq"]
                if event["type"] == "asked":
                    return str(event["inquiry"])

    async def open_questions(self) -> dict[str, str]:
        """The ids of everything open, by what was asked."""
        found: dict[str, str] = {}
        cursor: str | None = ""
        while cursor is not None:
            page = await self.get(f"/v1/inquiries?state=open&limit=200&cursor={quote(cursor)}")
            found |= {each["questions"][0]["question"]: each["id"] for each in page["items"]}
            cursor = page["next"]
        return found

    async def waiting(self) -> int:
        """How many callers are blocked."""
        for line in (await self.read("/metrics")).decode().splitlines():
            if line.startswith("upcall_waiting_callers "):
                return int(line.split()[1])
        raise LookupError("/metrics does not say how many wait")

    def close(self) -> None:
        self._connection.close()
