"""One connection of a pipe: its hello, the check of its token, and the lines of its conversation."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Protocol, cast

from typing_extensions import override

from upcall.access.connected import ConnectedSessions, is_resumable, session_name
from upcall.access.tokens import Access
from upcall.domain.errors import Unauthenticated, UpcallError
from upcall.domain.roles import Caller, Role
from upcall.doors.mcp.conversation import Conversation
from upcall.doors.mcp.elicitation import UNHEARD
from upcall.doors.mcp.meta import shared
from upcall.doors.mcp.tools import Tools
from upcall.doors.mcp.wire import INVALID_REQUEST, encoded, error
from upcall.doors.pipe.hello import (
    LONGEST_HELLO,
    LONGEST_LINE,
    acknowledges,
    asker_in,
    greeting,
    hello_of,
    refusal,
)
from upcall.http.gate import Gate

HELLO_WITHIN = 10.0
"""Seconds in which a pipe has to send its hello."""

MOST_ASKED = 1000
"""Inquiries for which one connection counts as that of their asker."""

UNKNOWN = Caller(name="", role=Role.AGENT)
"""The caller before a hello was accepted."""


class Listener(Protocol):
    """What the connections of one listener share."""

    tools: Tools
    access: Access
    gate: Gate
    held: ConnectedSessions
    waits: int
    closed: bool
    numbers: Iterator[int]
    connections: "set[PipeConnection]"
    admissions: "set[asyncio.Task[None]]"

    def lost(self, connection: "PipeConnection") -> None:
        """A connection has ended."""
        ...


class PipeConnection(asyncio.Protocol):
    """One pipe, and the link of its conversation, which begins once its hello was accepted."""

    __slots__ = (
        "_acknowledges",
        "_asked",
        "_buffer",
        "_caller",
        "_conversation",
        "_early",
        "_held",
        "_listener",
        "_timer",
        "_token",
        "_transport",
        "key",
    )

    is_local = True

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._conversation: Conversation | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._buffer: bytes | bytearray = b""
        self._token = ""
        self._early: list[bytes] | None = None
        self._held: tuple[str, ...] = ()
        self._asked: tuple[str, ...] = ()
        self._acknowledges = False
        self._caller = UNKNOWN
        self.key = next(listener.numbers)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._listener.closed:
            # Accepted in the moment of closing: the pipe finds the next daemon.
            cast("asyncio.Transport", transport).abort()
            return
        if not self._listener.gate.enter(self):
            cast("asyncio.Transport", transport).abort()
            return
        self._transport = cast("asyncio.Transport", transport)
        self._listener.connections.add(self)
        self._timer = asyncio.get_running_loop().call_later(HELLO_WITHIN, self.abort)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.lost(self)
        self._listener.gate.leave(self)
        for name in self._held:
            self._listener.held.disconnect(name)
        self._held = ()
        self._listener.held.stop_asking(self._asked)
        self._asked = ()
        if self._timer is not None:
            self._timer.cancel()
        if self._conversation is not None:
            self._conversation.drop()

    @override
    def pause_writing(self) -> None:
        # A pipe that does not read is not read from either: its replies must not pile up here.
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

    def hold(self, program: str, session: str) -> None:
        """Note that this pipe serves a session: it is not resumed while the pipe is there."""
        name = session_name(program, session)
        if name not in self._held:
            self._held = (*self._held, name)
            self._listener.held.connect(name)

    def asked(self, inquiry: str) -> None:
        """Note that the asker of an inquiry is connected."""
        if inquiry not in self._asked and len(self._asked) < MOST_ASKED:
            self._asked = (*self._asked, inquiry)
            self._listener.held.start_asking(inquiry)

    def replied(self, inquiry: str) -> None:
        """Forget an inquiry of which the answer was written: a pipe may ask for weeks."""
        if inquiry in self._asked:
            self._asked = tuple(each for each in self._asked if each != inquiry)
            self._listener.held.stop_asking((inquiry,))

    def taken(self, inquiry: str) -> bool:
        """Note what the agent of a run has taken: its own output is the evidence, and a run that was killed before is resumed."""
        run = self._caller.run
        if run is not None:
            self._listener.held.taken.add(run, inquiry)
        return run is not None

    async def handed(self, inquiry: str) -> None:
        """Drop the resume job of an answer that an older pipe will not acknowledge."""
        if not self._acknowledges:
            await self._listener.tools.drop_resume_job(inquiry)

    def identify(self) -> Caller:
        """The caller behind the token of this pipe.

        Raises:
            Unauthenticated: if the token was revoked.
        """
        return self._listener.access.identify(self._token)

    def write(self, line: bytes) -> None:
        """Send a line, if the pipe is still there."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)

    def finish(self, *, end: bool) -> None:
        """Close the connection, with a result for each of its calls if the daemon ends."""
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
        """Whether its hello was not accepted yet; after that it is never idle, since its agent may speak at any time."""
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
            self.write(encoded(error(None, INVALID_REQUEST, f"a line has at most {most} bytes")))
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
            self.identify()
        except Unauthenticated as problem:
            self._refuse(problem)
            return
        self._conversation.receive(line)

    def _introduced(self, line: bytes) -> None:
        try:
            hello = hello_of(line)
        except UpcallError as problem:
            self._refuse(problem)
            return
        self._token = str(hello.get("token", ""))
        if self._listener.access.is_withheld(self._token):
            self._early = []
            return
        try:
            caller = self.identify()
        except Unauthenticated:
            # Lines that came already are for the conversation, if there will be one.
            self._early = []
            if self._transport is not None:
                self._transport.pause_reading()
            admission = asyncio.get_running_loop().create_task(self._admit(hello))
            self._listener.admissions.add(admission)
            admission.add_done_callback(self._listener.admissions.discard)
        else:
            self._greet(hello, caller)

    async def _admit(self, hello: Mapping[str, object]) -> None:
        """Check a token that another daemon may have made a moment ago."""
        try:
            caller = await self._listener.access.admit(self._token)
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
        asker = asker_in(hello, caller, self._listener.tools.runner)
        session, program = asker.session, asker.origin.program
        if session is not None and is_resumable(program, session):
            self.hold(program, session)
        self._caller = caller
        self._acknowledges = acknowledges(hello)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Thousands of pipes may have the same token: it is kept once, and one that was not accepted is not kept at all.
        self._token = shared(self._token)
        self._conversation = Conversation(
            self._listener.tools,
            asker,
            self,
            most=self._listener.waits,
            # An older pipe does not pass on what a person answers.
            person=hello.get("person") if "person" in hello else UNHEARD,
        )
        self.write(encoded(greeting()))

    def _refuse(self, problem: UpcallError) -> None:
        self.write(encoded(refusal(problem)))
        self._hang_up()

    def _hang_up(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
