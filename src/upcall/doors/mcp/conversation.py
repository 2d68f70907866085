"""One client that speaks MCP in lines, over any transport. It knows neither sockets nor HTTP.

It is given lines and a link to write to, and it answers every request exactly once, unless the client cancelled
it. A call that waits is one task.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from upcall.access.connected import CONTINUED, is_resumable
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.inquiry.refs import ID_LENGTH
from upcall.domain.roles import Caller
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.checks import (
    INVALID,
    ProtocolError,
    check_envelope,
    id_of,
    is_id,
    message_of,
    negotiated,
)
from upcall.doors.mcp.definitions import Definition
from upcall.doors.mcp.evidence import HandedAnswers
from upcall.doors.mcp.link import ClientLink
from upcall.doors.mcp.meta import (
    CLIENT_INFO,
    Meta,
    client_in,
    meta_of,
    program_of,
    progress_token_of,
    request_key_of,
    session_of,
    thread_of,
)
from upcall.doors.mcp.tools import ToolResult, Watching, failure, result, still_known
from upcall.doors.mcp.wire import Message, RequestId

MOST_CALLS = 1000
"""Calls that may wait on one connection."""

log = logging.getLogger(__name__)


class Toolbox(Protocol):
    """The tools that a client is offered: those of a broker, or those that reach one through a folder."""

    def offered(self, caller: Caller) -> Sequence[Definition]:
        """The tools as they are listed for a caller."""
        ...

    @property
    def evidence(self) -> HandedAnswers:
        """Told of every answer that went out and of everything that was heard."""
        ...

    async def call(self, name: str, arguments: object, asker: Asker, watching: Watching = ...) -> ToolResult:
        """Do what a tool says. Never raises, except when it is cancelled."""
        ...


class Conversation:
    """The state of one client: which era it speaks and which calls are under way."""

    __slots__ = ("_asker", "_calls", "_client", "_era", "_initialized", "_link", "_most", "_tools")

    def __init__(
        self,
        tools: Toolbox,
        asker: Asker,
        link: ClientLink,
        *,
        initialized: bool = False,
        most: int = MOST_CALLS,
    ) -> None:
        self._most = most
        self._tools = tools
        self._asker = asker
        self._link = link
        self._client = asker.origin.client
        self._calls: dict[RequestId, _Call] = {}
        self._initialized = initialized
        self._era: str | None = "handshake" if initialized else None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return bool(self._calls)

    def receive(self, line: bytes) -> None:
        """Handle the message on a line. It never raises."""
        try:
            message = message_of(line)
        except ProtocolError as refusal:
            self.refuse(refusal)
        else:
            self.handle(message)

    def refuse(self, refusal: ProtocolError) -> None:
        """Answer what cannot be handled."""
        self.send(wire.error(refusal.request_id, refusal.code, refusal.message, refusal.data))

    def handle(self, message: Mapping[str, object]) -> None:
        """Handle one message. It never raises."""
        request_id: RequestId | None = None
        try:
            if message.get("upcall") == "taken":
                self._taken(message.get("id"))
                return
            if "method" not in message and ("result" in message or "error" in message):
                # A response, though nothing was asked: there is nothing to say to that.
                return
            request_id = id_of(message)
            method = message.get("method")
            if not isinstance(method, str):
                raise ProtocolError(wire.INVALID_REQUEST, "method must be a string")
            if request_id is None:
                self._notified(method, message.get("params"))
            else:
                self._request(request_id, method, message.get("params"))
        except ProtocolError as refusal:
            self.send(wire.error(request_id, refusal.code, refusal.message, refusal.data))
        except Exception:
            log.exception("a message could not be handled")
            self.send(wire.error(request_id, wire.INTERNAL_ERROR, "Internal error"))

    def send(self, message: Message) -> None:
        """Write one message to the client."""
        self._link.write(wire.encoded(message))

    def asked(self, inquiry: str) -> None:
        """A call of this client is about an inquiry."""
        self._link.asked(inquiry)

    def park(self) -> None:
        """End every call with a typed result: the question stays open."""
        for call in list(self._calls.values()):
            call.park()

    def drop(self) -> None:
        """Forget the client: nothing more can be proved by this connection."""
        self._tools.evidence.gone(self._link.key)
        self.detach()

    def detach(self) -> None:
        """Stop waiting on behalf of the client: no replies, and its questions stay open."""
        for call in list(self._calls.values()):
            call.cancel()

    def _taken(self, inquiry: object) -> None:
        """The pipe says that its agent has an answer."""
        # It is kept for a while, so a text that cannot be an id is left out.
        if not isinstance(inquiry, str) or len(inquiry) != ID_LENGTH:
            return
        if not self._link.taken(inquiry):
            self._tools.evidence.acknowledged(inquiry, self._asker.caller)

    def _notified(self, method: str, params: object) -> None:
        if method != "notifications/cancelled":
            self._tools.evidence.heard(self._link.key)
            return
        # Giving up on a call says nothing about having read anything.
        request_id = (
            cast("Mapping[str, object]", params).get("requestId") if isinstance(params, Mapping) else None
        )
        if not is_id(request_id):
            return
        call = self._calls.get(cast("RequestId", request_id))
        if call is not None:
            call.cancel()
        else:
            self._tools.evidence.missed(self._link.key, request_id)

    def _request(self, request_id: RequestId, method: str, params: object) -> None:
        # A call sent again was not answered as far as its sender knows.
        self._tools.evidence.missed(self._link.key, request_id)
        self._tools.evidence.heard(self._link.key)
        if params is not None and not isinstance(params, Mapping):
            raise ProtocolError(wire.INVALID_REQUEST, "params must be an object")
        fields = cast("Mapping[str, object]", params or {})
        enveloped = wire.VERSION_KEY in meta_of(fields)
        if self._era is None:
            self._era = "modern" if enveloped and method != "initialize" else "handshake"
        if self._era == "modern":
            self._modern(request_id, method, fields)
        else:
            self._handshake(request_id, method, fields, enveloped=enveloped)

    def _handshake(
        self, request_id: RequestId, method: str, params: Mapping[str, object], *, enveloped: bool
    ) -> None:
        if enveloped and method != "initialize":
            raise ProtocolError(
                wire.INVALID_REQUEST,
                "this connection serves the handshake protocol era; requests carrying the 2026-07-28 envelope "
                "are not accepted on it",
            )
        match method:
            case "initialize":
                version = negotiated(params)
                self._initialized = True
                self._client = client_in(params.get("clientInfo")) or self._client
                self.send(wire.response(request_id, wire.initialized(version)))
            case "ping":
                self.send(wire.response(request_id, {}))
            case "tools/list" | "tools/call" if not self._initialized:
                raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
            case _:
                self._either(request_id, method, params, modern=False)

    def _modern(self, request_id: RequestId, method: str, params: Mapping[str, object]) -> None:
        if method == "initialize":
            data: Message = {"supported": list(wire.MODERN_VERSIONS)}
            if isinstance(params.get("protocolVersion"), str):
                data["requested"] = params["protocolVersion"]
            raise ProtocolError(
                wire.UNSUPPORTED_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                data,
            )
        check_envelope(params)
        if method == "server/discover":
            self.send(wire.response(request_id, wire.discovered()))
        else:
            self._either(request_id, method, params, modern=True)

    def _either(
        self, request_id: RequestId, method: str, params: Mapping[str, object], *, modern: bool
    ) -> None:
        if not isinstance(params.get("_meta", {}), Mapping):
            raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
        match method:
            case "tools/list":
                if not isinstance(params.get("cursor"), str | None):
                    raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
                offered = self._tools.offered(self._asker.caller)
                self.send(wire.response(request_id, wire.listed(offered, modern=modern)))
            case "tools/call":
                self._call(request_id, params, modern=modern)
            case _:
                raise ProtocolError(wire.METHOD_NOT_FOUND, "Method not found", method)

    def _call(self, request_id: RequestId, params: Mapping[str, object], *, modern: bool) -> None:
        name, meta = params.get("name"), meta_of(params)
        if not isinstance(name, str):
            raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
        if request_id in self._calls:
            raise ProtocolError(wire.INVALID_REQUEST, f"request id {request_id!r} is already in use")
        if len(self._calls) >= self._most:
            raise ProtocolError(
                wire.INVALID_REQUEST,
                f"{self._most} calls wait on this connection already, and no more may (`caps.waits`)",
            )
        asker = self._asker_of(meta)
        call = _Call(self, request_id, progress_token_of(meta), modern=modern)
        call.arguments = params.get("arguments")
        self._calls[request_id] = call
        call.task = asyncio.get_running_loop().create_task(self._serve(call, name, asker))

    def _asker_of(self, meta: Meta) -> Asker:
        """The asker of a call: the connection's, with what the request says about itself."""
        session = session_of(meta) or self._asker.session
        # Which program it is matters only where this machine could resume the session.
        program = (program_of(meta) or self._asker.origin.program) if self._link.is_local else ""
        if session is None and program in CONTINUED:
            # It cannot be resumed by itself, but a person can be told how to.
            pass
        elif session is None or not is_resumable(program, session):
            program = ""
        else:
            self._link.hold(program, session)
        return self._asker.calling(
            session=session,
            program=program,
            client=client_in(meta.get(CLIENT_INFO)) or self._client,
            request_key=request_key_of(meta),
            thread=thread_of(meta),
        )

    async def _serve(self, call: "_Call", name: str, asker: Asker) -> None:
        watching = Watching(opened=call.opened, progress=None if call.token is None else call.progress)
        try:
            told = still_known(
                await self._tools.call(name, call.taken(), asker, watching), self._link.identify
            )
        except Exception:
            # A call that gets no reply keeps its agent waiting for ever.
            log.exception("a call of %r could not be served", name)
            self.send(wire.error(call.request_id, wire.INTERNAL_ERROR, "Internal error"))
            return
        finally:
            self._calls.pop(call.request_id, None)
        self.send(wire.response(call.request_id, wire.called(told, modern=call.modern)))
        if told.collectable is not None:
            self._tools.evidence.handed(self._link.key, call.request_id, told.collectable, asker.caller)
            if asker.origin.program and asker.caller.run is None:
                await self._link.handed(told.collectable)


class _Call:
    """A tool call under way."""

    __slots__ = ("arguments", "conversation", "inquiry", "modern", "request_id", "task", "token")

    def __init__(
        self, conversation: Conversation, request_id: RequestId, token: str | int | None, *, modern: bool
    ) -> None:
        self.conversation = conversation
        self.request_id = request_id
        self.token = token
        self.modern = modern
        self.arguments: object = None
        self.inquiry: Inquiry | None = None
        self.task: asyncio.Task[None] | None = None

    def taken(self) -> object:
        """The arguments, which are not kept beyond this: a call may wait for long."""
        arguments, self.arguments = self.arguments, None
        return arguments

    def opened(self, inquiry: Inquiry) -> None:
        """Tell the pipe what its call became: it can then name the question even when we are gone."""
        self.inquiry = inquiry
        self.conversation.asked(inquiry.id)
        self.conversation.send(
            {"upcall": "opened", "request": self.request_id, "id": inquiry.id, "ref": inquiry.ref}
        )

    def progress(self, count: int, sentence: str) -> None:
        """Show a sign of life."""
        self.conversation.send(wire.progress(cast("str | int", self.token), count, sentence))

    def cancel(self) -> None:
        """Detach: no reply, and the question stays open."""
        if self.task is not None:
            self.task.cancel()

    def park(self) -> None:
        """Detach with a typed result."""
        self.cancel()
        if self.inquiry is None:
            told = failure(
                "shutting_down", "Upcall is shutting down", "start it with `upcall up` and ask again"
            )
        else:
            told = result(self.inquiry)
        self.conversation.send(wire.response(self.request_id, wire.called(told, modern=self.modern)))
