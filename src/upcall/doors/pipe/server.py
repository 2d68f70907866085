"""Where pipes come in: a listener on loopback whose connections cost little more than their socket.

A pipe introduces itself with one line, gets one line back, and from then on both sides send MCP messages, one per
line. Lines with a key `upcall` are between the two of us and never reach the agent.
"""

import asyncio
import itertools
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import cast

from typing_extensions import override

from upcall import __version__
from upcall.access.connected import ConnectedSessions, is_resumable, session_name
from upcall.access.tokens import Access
from upcall.domain.errors import InvalidRequest, Unauthenticated, UpcallError
from upcall.domain.roles import Caller
from upcall.doors.mcp.conversation import MOST_CALLS, Conversation, Peer
from upcall.doors.mcp.meta import client_in, wait_of
from upcall.doors.mcp.tools import Tools
from upcall.doors.mcp.wire import INVALID_REQUEST, Message, encoded, error
from upcall.home.files import ACKNOWLEDGING, PIPE_PROTOCOL
from upcall.http.gate import Gate, most_connections
from upcall.ports.json_reading import NotJson, read_json

LONGEST_LINE = 8 * 1024 * 1024
LONGEST_HELLO = 64 * 1024
"""Bytes of an introduction, which comes from a stranger."""

HELLO_WITHIN = 10.0
GOODBYE_WITHIN = 2.0
MOST_ASKED = 1000
OLDEST_PIPE = 1
"""The oldest pipe that is still understood."""

HELLO_EXAMPLE = 'the first line is {"upcall": "pipe", "protocol": 2, "token": "…", "pipe": "…"}'

log = logging.getLogger(__name__)


class PipeServer:
    """Listens for pipes. `close(end=False)` lets them reconnect, `close(end=True)` tells them it is over."""

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
        self.connections: set[_Connection] = set()
        self._deserted = asyncio.Event()
        self.numbers = itertools.count()
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self.closed = False
        self.admissions: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), self._host, self._port, backlog=4096
        )
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def port(self) -> int:
        """The port that pipes connect to."""
        return self._port

    def lost(self, connection: "_Connection") -> None:
        """A connection is over."""
        self.connections.discard(connection)
        if not self.connections:
            self._deserted.set()

    async def close(self, *, end: bool = False) -> None:
        """Stop. At an end every call gets a parked result; before a restart none does, so pipes send them again."""
        self.closed = True
        if self._server is not None:
            self._server.close()
            self._server = None
        self._deserted.clear()
        for connection in list(self.connections):
            connection.finish(end=end)
        if self.connections:
            # What was written last has to leave the building.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._deserted.wait(), GOODBYE_WITHIN)
        for connection in list(self.connections):
            connection.abort()
        for admission in self.admissions:
            admission.cancel()
        await asyncio.gather(*self.admissions, return_exceptions=True)


class _Connection(asyncio.Protocol):
    """One pipe. Before its introduction was accepted there is no conversation."""

    __slots__ = (
        "_asked",
        "_buffer",
        "_conversation",
        "_early",
        "_held",
        "_server",
        "_timer",
        "_token",
        "_transport",
    )

    def __init__(self, server: PipeServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._conversation: Conversation | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._buffer: bytes | bytearray = b""
        self._token = ""
        self._early: list[bytes] | None = None
        self._held: tuple[str, ...] = ()
        self._asked: tuple[str, ...] = ()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._server.closed:
            # Accepted in the moment of closing: whoever it is finds the next daemon.
            cast("asyncio.Transport", transport).abort()
            return
        if not self._server.gate.enter(self):
            cast("asyncio.Transport", transport).abort()
            return
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self._timer = asyncio.get_running_loop().call_later(HELLO_WITHIN, self.abort)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._server.lost(self)
        self._server.gate.leave(self)
        for name in self._held:
            self._server.held.disconnect(name)
        self._held = ()
        self._server.held.stop_asking(self._asked)
        self._asked = ()
        if self._timer is not None:
            self._timer.cancel()
        if self._conversation is not None:
            self._conversation.drop()

    @override
    def pause_writing(self) -> None:
        # A peer that does not read is not listened to either: its replies must not pile up here.
        if self._transport is not None:
            self._transport.pause_reading()

    @override
    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    @override
    def data_received(self, data: bytes) -> None:
        if self._buffer:
            self._buffer = bytearray(self._buffer) if isinstance(self._buffer, bytes) else self._buffer
            self._buffer += data
            if b"\n" not in data:
                self._check_length()
                return
            data = bytes(self._buffer)
        lines = data.split(b"\n")
        self._buffer = lines.pop()
        for line in lines:
            if len(line) > (
                LONGEST_HELLO if self._conversation is None and self._early is None else LONGEST_LINE
            ):
                self._buffer = line
                break
            if line.strip() and self._transport is not None:
                self._line(line)
        self._check_length()

    def _hold(self, program: str, session: str) -> None:
        """Take note of a session that this pipe speaks for."""
        name = session_name(program, session)
        if name not in self._held:
            self._held = (*self._held, name)
            self._server.held.connect(name)

    def _ask(self, inquiry: str) -> None:
        """Take note of a question whose asker is at the other end."""
        if inquiry not in self._asked and len(self._asked) < MOST_ASKED:
            self._asked = (*self._asked, inquiry)
            self._server.held.start_asking(inquiry)

    def finish(self, *, end: bool) -> None:
        """Let go of the pipe, with a result for each of its calls if this is the end."""
        if not end or self._transport is None:
            self.abort()
            return
        if self._conversation is not None:
            self._conversation.park()
        self._transport.close()

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether it has not introduced itself; a pipe that has is never idle, its agent may speak at any time."""
        return self._conversation is None

    @property
    def is_known(self) -> bool:
        """Whether its token was accepted."""
        return self._conversation is not None

    def give_way(self) -> None:
        """End at once: there are too many."""
        self.abort()

    def _check_length(self) -> None:
        most = LONGEST_HELLO if self._conversation is None and self._early is None else LONGEST_LINE
        if len(self._buffer) > most:
            self._write(encoded(error(None, INVALID_REQUEST, f"a line has at most {most} bytes")))
            self._buffer = b""
            self._hang_up()

    def _line(self, line: bytes) -> None:
        if self._early is not None:
            self._early.append(line)
            return
        if self._conversation is None:
            self._introduced(line)
            return
        try:
            # A token that was revoked ends here, not when the pipe next connects.
            self._identify()
        except Unauthenticated as problem:
            self._refuse(problem)
            return
        self._conversation.receive(line)

    def _identify(self) -> Caller:
        return self._server.access.identify(self._token)

    def _introduced(self, line: bytes) -> None:
        try:
            hello = hello_of(line)
        except UpcallError as problem:
            self._refuse(problem)
            return
        self._token = str(hello.get("token", ""))
        if self._server.access.is_withheld(self._token):
            self._early = []
            return
        try:
            caller = self._identify()
        except Unauthenticated:
            # What has come already is for the conversation that there may be.
            self._early = []
            if self._transport is not None:
                self._transport.pause_reading()
            admission = asyncio.get_running_loop().create_task(self._admit(hello))
            self._server.admissions.add(admission)
            admission.add_done_callback(self._server.admissions.discard)
        else:
            self._greet(hello, caller)

    async def _admit(self, hello: Mapping[str, object]) -> None:
        """Let somebody in whose token may have been made at another daemon a moment ago."""
        try:
            caller = await self._server.access.admit(self._token)
        except UpcallError as problem:
            self._refuse(problem)
            return
        early, self._early = self._early or [], None
        if self._is_there():
            self._greet(hello, caller)
        for line in early:
            if self._is_there():
                self._line(line)
        if self._transport is not None and self._is_there():
            self._transport.resume_reading()

    def _is_there(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _greet(self, hello: Mapping[str, object], caller: Caller) -> None:
        try:
            peer = Peer(
                caller=caller,
                connection=next(self._server.numbers),
                session=name_of(hello.get("session")),
                workspace=name_of(hello.get("workspace")),
                wait=wait_of(hello.get("wait")),
                client=name_of(hello.get("pipe")) or "",
                client_name=client_in(hello.get("client")),
                program=name_of(hello.get("program")) or "",
                holds=self._hold,
                asked=self._ask,
                handed=None if acknowledges(hello) else self._server.tools.leave_in_peace,
                # A run of ours shows in its own stream what it has, and one that was killed before that is brought back.
                taken=None if caller.run is None else partial(self._server.held.taken.add, caller.run),
                identify=self._identify,
            )
            if peer.session is not None and is_resumable(peer.program, peer.session):
                self._hold(peer.program, peer.session)
        except UpcallError as problem:
            self._refuse(problem)
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Thousands may show the same, which is kept once. What strangers show is not kept at all.
        self._token = shared(self._token)
        self._conversation = Conversation(self._server.tools, peer, self._write, most=self._server.waits)
        self._write(encoded(greeting()))

    def _refuse(self, problem: UpcallError) -> None:
        self._write(encoded(refusal(problem)))
        self._hang_up()

    def _hang_up(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def _write(self, line: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)


def greeting() -> Message:
    """What a pipe is told when it was understood. It decides whether it can work with this protocol."""
    return {"upcall": "daemon", "protocol": PIPE_PROTOCOL, "version": __version__}


def refusal(problem: UpcallError) -> Message:
    """What a pipe is told when it cannot be served."""
    told: Message = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    return {"upcall": "error", "protocol": PIPE_PROTOCOL, "version": __version__, "error": told}


def hello_of(line: bytes) -> Mapping[str, object]:
    """A pipe's introduction.

    Raises:
        InvalidRequest: if it is none, or one of a pipe that is too old.
    """
    hello: object = None
    with suppress(NotJson):
        hello = read_json(line, "the first line")
    if not isinstance(hello, dict):
        raise InvalidRequest("this is the door for `upcall mcp`", hint=HELLO_EXAMPLE)
    fields = cast("Mapping[str, object]", hello)
    protocol = fields.get("protocol")
    if fields.get("upcall") != "pipe" or not isinstance(protocol, int):
        raise InvalidRequest("this is the door for `upcall mcp`", hint=HELLO_EXAMPLE)
    if protocol < OLDEST_PIPE:
        raise InvalidRequest(
            f"this pipe speaks protocol {protocol}, the oldest that is understood is {OLDEST_PIPE}",
            hint="update Upcall where the agent runs",
        )
    return fields


def acknowledges(hello: Mapping[str, object]) -> bool:
    """Whether a pipe says so when its agent has taken an answer."""
    protocol = hello["protocol"]
    return isinstance(protocol, int) and protocol >= ACKNOWLEDGING


def name_of(value: object) -> str | None:
    """A name that a pipe gave, if it did. Thousands may give the same, which is kept once."""
    return shared(value[:1000]) if isinstance(value, str) and value else None


@lru_cache(maxsize=4096)
def shared(text: str) -> str:
    """The same text for equal ones, as long as they are in use; interned ones would stay for ever on some Pythons."""
    return text
