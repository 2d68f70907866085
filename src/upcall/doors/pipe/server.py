"""The listener for pipes on loopback. A connection costs little more than its socket.

A pipe sends one line, its hello, gets one line back, and from then on both sides send MCP messages, one per line. Lines with a
key `upcall` are between pipe and daemon and never reach the agent.
"""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import suppress

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.doors.mcp.conversation import MOST_CALLS
from upcall.doors.mcp.tools import Tools
from upcall.doors.pipe.connection import PipeConnection
from upcall.http.gate import Gate, most_connections

GOODBYE_WITHIN = 2.0
"""Seconds in which the last lines of the daemon have to be sent."""


class PipeServer:
    """Listens for pipes. `close(end=False)` lets them reconnect, `close(end=True)` gives every call a result first."""

    def __init__(
        self,
        tools: Tools,
        access: Access,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        gate: Gate | None = None,
        waits: int = MOST_CALLS,
    ) -> None:
        self.waits = waits
        self.gate = Gate(most_connections(0)) if gate is None else gate
        self.tools = tools
        self.access = access
        self.held = ConnectedSessions()
        self.connections: set[PipeConnection] = set()
        self._deserted = asyncio.Event()
        self.numbers: Iterator[int] = itertools.count()
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self.closed = False
        self.admissions: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: PipeConnection(self), self._host, self._port, backlog=4096
        )
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def port(self) -> int:
        """The port that pipes connect to."""
        return self._port

    def lost(self, connection: "PipeConnection") -> None:
        """A connection has ended."""
        self.connections.discard(connection)
        if not self.connections:
            self._deserted.set()

    async def close(self, *, end: bool = False) -> None:
        """Stop. At an end every call gets a parked result. Before a restart none does, so pipes send their calls again."""
        self.closed = True
        if self._server is not None:
            self._server.close()
            self._server = None
        self._deserted.clear()
        for connection in list(self.connections):
            connection.finish(end=end)
        if self.connections:
            # The last lines have to be sent.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._deserted.wait(), GOODBYE_WITHIN)
        for connection in list(self.connections):
            connection.abort()
        for admission in self.admissions:
            admission.cancel()
        await asyncio.gather(*self.admissions, return_exceptions=True)
