"""One client that speaks MCP in lines, over any transport. It knows neither sockets nor HTTP.

It is given lines and a link to write to, and it answers every request exactly once, unless the client cancelled
it. A call that waits is one task.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import cast

from upcall.access.connected import CONTINUED, is_resumable
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.inquiry.refs import ID_LENGTH
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
from upcall.doors.mcp.elicitation import NOTHING, Shows
from upcall.doors.mcp.line_call import LineCall, Toolbox
from upcall.doors.mcp.line_screen import LineScreen, inquiry_in
from upcall.doors.mcp.link import ClientLink
from upcall.doors.mcp.meta import (
    CAPABILITIES,
    CLIENT_INFO,
    Meta,
    client_in,
    is_hurried,
    meta_of,
    name_in,
    program_of,
    progress_token_of,
    request_key_of,
    session_of,
    thread_of,
)
from upcall.doors.mcp.rounds import call_in_rounds, takes_rounds
from upcall.doors.mcp.tasks import Tasks
from upcall.doors.mcp.tools import ToolResult, Tools, still_known
from upcall.doors.mcp.wire import Message, RequestId

MOST_CALLS = 1000
"""Calls that may wait on one connection."""

log = logging.getLogger(__name__)


class Conversation:
    """The state of one client: which era it speaks and which calls are under way."""

    __slots__ = (
        "_asker",
        "_calls",
        "_client",
        "_era",
        "_initialized",
        "_link",
        "_most",
        "_person",
        "_screen",
        "_shows",
        "_tools",
        "recording",
    )

    def __init__(
        self,
        tools: Toolbox,
        asker: Asker,
        link: ClientLink,
        *,
        initialized: bool = False,
        most: int = MOST_CALLS,
        person: object = None,
    ) -> None:
        self._most = most
        self._person = person
        self._shows = NOTHING
        self._screen: LineScreen | None = None
        self._tools = tools
        self._asker = asker
        self._link = link
        self._client = asker.origin.client
        self._calls: dict[RequestId, LineCall] = {}
        self._initialized = initialized
        self._era: str | None = "handshake" if initialized else None
        self.recording: asyncio.Task[None] | None = None
        """What its pipe said last that the agent has, until that is on record."""

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
                self._responded(message)
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

    def asked(self, inquiry: Inquiry, asker: Asker) -> None:
        """A call of this client is about an inquiry, which the client may show to its person."""
        self._link.asked(inquiry.id)
        if self._shows and isinstance(self._tools, Tools):
            self._screen = self._screen or LineScreen(self.send)
            self._tools.forms.show(self._link.key, inquiry, asker, self._shows, self._screen.of(inquiry))

    def park(self) -> None:
        """End every call with a typed result: the question stays open."""
        for call in list(self._calls.values()):
            call.park()

    def drop(self) -> None:
        """Forget the client: nothing more can be proved by this connection."""
        self._tools.evidence.gone(self._link.key)
        self.leave_forms()
        self.detach()

    def leave_forms(self) -> None:
        """Forget what the client shows to its person: it cannot be reached over this connection any more."""
        if isinstance(self._tools, Tools):
            self._tools.forms.gone(self._link.key)

    def met(self, params: Mapping[str, object]) -> None:
        """Take what a client has said about itself in its handshake."""
        self._client = client_in(params.get("clientInfo")) or self._client
        # Most clients show nothing, and then nothing is kept.
        self._shows = self._shown(
            params.get("capabilities"), name_in(params.get("clientInfo")), params.get("protocolVersion")
        )

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
            self.recording = self._tools.evidence.acknowledged(inquiry, self._asker.caller, self._link.key)

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
                self.met({**params, "protocolVersion": version})
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
            self.send(wire.response(request_id, wire.discovered(tasks=isinstance(self._tools, Tools))))
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
            case "tasks/get" | "tasks/update" | "tasks/cancel" if modern and isinstance(self._tools, Tools):
                call = self._begun(request_id, meta_of(params), modern=True)
                work = self._serve_task(call, self._tools, method, params)
                call.task = asyncio.get_running_loop().create_task(work)
            case _:
                raise ProtocolError(wire.METHOD_NOT_FOUND, "Method not found", method)

    def _call(self, request_id: RequestId, params: Mapping[str, object], *, modern: bool) -> None:
        name, meta = params.get("name"), meta_of(params)
        if not isinstance(name, str):
            raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
        call = self._begun(request_id, meta, modern=modern)
        call.arguments = params.get("arguments")
        if modern and takes_rounds(params, self._shown_with(meta)):
            call.rounds = params
        call.task = asyncio.get_running_loop().create_task(self._serve(call, name))

    def _begun(self, request_id: RequestId, meta: Meta, *, modern: bool) -> LineCall:
        if request_id in self._calls:
            raise ProtocolError(wire.INVALID_REQUEST, f"request id {request_id!r} is already in use")
        if len(self._calls) >= self._most:
            raise ProtocolError(
                wire.INVALID_REQUEST,
                f"{self._most} calls wait on this connection already, and no more may (`caps.waits`)",
            )
        asker, token = self._asker_of(meta), progress_token_of(meta)
        call = self._calls[request_id] = LineCall(self, request_id, asker, token, modern=modern)
        return call

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
        client = client_in(meta.get(CLIENT_INFO)) or self._client
        return self._asker.calling(
            session=session,
            program=program,
            client=client,
            hurried=is_hurried(client, meta),
            request_key=request_key_of(meta),
            thread=thread_of(meta),
        )

    async def _serve(self, call: LineCall, name: str) -> None:
        try:
            told = await self._told(call, name)
        except Exception:
            # A call that gets no reply keeps its agent waiting for ever.
            log.exception("a call of %r could not be served", name)
            self.send(wire.error(call.request_id, wire.INTERNAL_ERROR, "Internal error"))
            return
        finally:
            self._calls.pop(call.request_id, None)
        if not isinstance(told, ToolResult):
            self.send(wire.response(call.request_id, wire.enveloped(told)))
            return
        told = still_known(told, self._link.identify)
        self.send(wire.response(call.request_id, wire.called(told, modern=call.modern)))
        await self._handed(call, told)

    def _told(self, call: LineCall, name: str) -> Awaitable[ToolResult | Message]:
        """What comes of a call. No coroutine of its own: each would be kept for as long as the call waits."""
        params, call.rounds = call.rounds, None
        if params is None or not isinstance(self._tools, Tools):
            return self._tools.call(name, call.taken(), call.asker, call)
        shows = self._shown_with(meta_of(params))
        return call_in_rounds(self._tools, params, call.taken(), call.asker, call, shows)

    async def _serve_task(
        self, call: LineCall, tools: Tools, method: str, params: Mapping[str, object]
    ) -> None:
        try:
            result, told = await Tasks(tools).do(
                method, params, call.asker, self._shown_with(meta_of(params))
            )
        except ProtocolError as refusal:
            self.send(wire.error(call.request_id, refusal.code, refusal.message, refusal.data))
            return
        finally:
            self._calls.pop(call.request_id, None)
        self.send(wire.response(call.request_id, wire.enveloped(result)))
        if told is not None:
            await self._handed(call, told)

    async def _handed(self, call: LineCall, told: ToolResult) -> None:
        if told.collectable is not None:
            asker = call.asker
            self._link.replied(told.collectable)
            self._tools.evidence.handed(self._link.key, call.request_id, told.collectable, asker.caller)
            if asker.origin.program and asker.caller.run is None:
                await self._link.handed(told.collectable)

    def _shown(self, capabilities: object, client: str, version: object) -> Shows:
        if not isinstance(self._tools, Tools):
            return NOTHING
        return self._tools.elicitation.shown_by(capabilities, client, said=self._person, version=version)

    def _shown_with(self, meta: Meta) -> Shows:
        """What a client shows that says so with every request."""
        return self._shown(meta.get(CAPABILITIES), name_in(meta.get(CLIENT_INFO)), meta.get(wire.VERSION_KEY))

    def _responded(self, message: Mapping[str, object]) -> None:
        """Take a response, also to a request of another connection; there is nothing to say to it."""
        if self._screen is not None and self._screen.heard(message):
            return
        inquiry = inquiry_in(message.get("id"))
        if inquiry is None or not isinstance(self._tools, Tools):
            return
        call = self._begun(str(message["id"]), {}, modern=False)
        call.task = asyncio.get_running_loop().create_task(
            self._take(call, self._tools, inquiry, message.get("result"))
        )

    async def _take(self, call: LineCall, tools: Tools, inquiry: str, response: object) -> None:
        try:
            await tools.elicitation.take(inquiry, call.asker, self._shows, response)
        finally:
            self._calls.pop(call.request_id, None)
