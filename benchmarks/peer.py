"""Agents at the pipe's own door, without a process each: what `upcall mcp` says to a daemon, on a Protocol."""

import asyncio
import json
import time
from typing import cast

from typing_extensions import override

from benchmarks.client import Json, asking
from benchmarks.daemon import Daemon
from upcall.home.files import PIPE_PROTOCOL

_CALL = 2


class Peer(asyncio.Protocol):
    """One pipe's connection, over which one call after another is made."""

    __slots__ = ("_buffer", "_called", "_opened", "_reply", "_transport", "arrived")

    def __init__(self) -> None:
        self._buffer = b""
        self._called = _CALL
        self._reply: asyncio.Future[bytes] | None = None
        self._opened: asyncio.Future[str] | None = None
        self._transport: asyncio.Transport | None = None
        self.arrived = 0.0

    @classmethod
    async def at(cls, daemon: Daemon, name: str) -> "Peer":
        """A pipe that has introduced itself."""
        loop = asyncio.get_running_loop()
        _, peer = await loop.create_connection(cls, daemon.host, daemon.pipe_port)
        hello = {
            "upcall": "pipe",
            "protocol": PIPE_PROTOCOL,
            "pipe": name,
            "session": None,
            "workspace": "/srv/project",
            "wait": "block",
            "token": daemon.agent,
        }
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        peer.write(
            hello,
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        )
        return peer

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if line.startswith(b'{"upcall":"opened"'):
                if self._opened is not None and not self._opened.done():
                    self._opened.set_result(json.loads(line)["id"])
            elif line.startswith(b'{"upcall":"error"'):
                self._fail(line)
            elif self._reply is not None and json.loads(line).get("id") == self._called:
                self.arrived = time.perf_counter()
                self._called += 1
                reply, self._reply = self._reply, None
                reply.set_result(line)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(self._buffer)

    def write(self, *messages: Json) -> None:
        assert self._transport is not None
        self._transport.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def call(self, name: str, text: str) -> "tuple[asyncio.Future[str], asyncio.Future[bytes]]":
        """Ask and block: the question's id comes first, the result much later."""
        loop = asyncio.get_running_loop()
        self._opened, self._reply = loop.create_future(), loop.create_future()
        meta = {"progressToken": 1, "upcall/requestKey": f"{name}:{self._called}"}
        params = {"name": "ask_human", "arguments": asking(text), "_meta": meta}
        self.write({"jsonrpc": "2.0", "id": self._called, "method": "tools/call", "params": params})
        return self._opened, self._reply

    def close(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def _fail(self, said: bytes) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionError(f"the daemon hung up: {said[:300]!r}"))
