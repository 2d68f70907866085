"""`tools/call` of 2026-07-28 over HTTP, without the SDK's machinery around a call that waits: two tasks and no stream between them.

The SDK checks each request, and serves all that is out of the ordinary. Here, as there, a reply is one JSON document,
or a stream of events once there was a sign of life before it.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, cast

from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp_types import JSONRPCRequest
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.checks import ProtocolError, message_of
from upcall.doors.mcp.http_request import asker_of, connection_of
from upcall.doors.mcp.message_body import with_body
from upcall.doors.mcp.meta import CAPABILITIES, CLIENT_INFO, meta_of, name_in, progress_token_of
from upcall.doors.mcp.rounds import takes_rounds
from upcall.doors.mcp.tools import Tools, still_known
from upcall.doors.mcp.watching import Watching
from upcall.doors.mcp.wire import Message, RequestId
from upcall.http.bearer import header_of, token_of
from upcall.http.body import Json, disconnected, read_body

PING = b": ping\r\n\r\n"
STREAM_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)

log = logging.getLogger(__name__)


class DirectCalls:
    """Serves requests of 2026-07-28: ordinary calls of tools itself, all others with `otherwise`."""

    def __init__(
        self, tools: Tools, access: Access, schemas: Mapping[str, Mapping[str, Any]], otherwise: ASGIApp
    ) -> None:
        self._tools = tools
        self._access = access
        self._schemas = schemas
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST" or header_of(scope, b"mcp-method") != "tools/call":
            await self._otherwise(scope, receive, send)
            return
        body = await read_body(receive)
        call = self._begun(scope, body, send)
        if call is None:
            await self._otherwise(scope, with_body(body, receive), send)
            return
        # Thousands may wait from here on, none of which needs what it was sent, or what the SDK would have been told of its sender.
        del body
        scope.pop("user", None)
        # A waiting client sends nothing more; what it says next is that it is gone, or the server that all was sent.
        try:
            await disconnected(receive)
        finally:
            call.cancel()

    def _begun(self, scope: Scope, body: bytes, send: Send) -> "asyncio.Task[None] | None":
        """The task of a call; None if it is one for the SDK."""
        request = Request(scope)
        message = self._ordinary(request, body)
        if message is None:
            return None
        params = cast("Mapping[str, Any]", message["params"])
        meta = meta_of(params)
        connection, good_for = connection_of(request, params)
        if connection is not None:
            self._tools.evidence.heard(connection)
        reply = _Reply(scope, send, cast("RequestId", message["id"]), progress_token_of(meta))
        handed = partial(self._handed, connection, reply.request_id, good_for)
        identify = partial(self._access.identify, token_of(scope))
        work = self._serve(
            reply, params["name"], params.get("arguments"), asker_of(request, meta), identify, handed
        )
        return asyncio.get_running_loop().create_task(work)

    def _ordinary(self, request: Request, body: bytes) -> Mapping[str, Any] | None:
        """The message of a request that passes all checks of the SDK and is answered by one result; None for any other."""
        content_type = request.headers.get("content-type", "").lower()
        if not content_type.startswith("application/json") or not all(check_accept_headers(request)):
            return None
        try:
            message = cast("Mapping[str, Any]", message_of(body))
            params = JSONRPCRequest.model_validate(message).params or {}
            if find_duplicated_routing_header(request.headers.items()) is not None:
                return None
            route = classify_inbound_request(message, headers=dict(request.headers))
            if not isinstance(route, InboundModernRoute):
                return None
            validate_client_request("tools/call", route.protocol_version, params)
        except (ProtocolError, ValidationError, KeyError):
            return None
        schema, arguments = self._schemas.get(params["name"]), params.get("arguments") or {}
        if schema is None or validate_mcp_param_headers(schema, arguments, request.headers) is not None:
            return None
        meta = meta_of(params)
        shows = self._tools.elicitation.shown_by(
            meta.get(CAPABILITIES),
            name_in(meta.get(CLIENT_INFO)),
            said=request.headers.get("upcall-person"),
            version=route.protocol_version,
        )
        return None if takes_rounds(params, shows) else message

    async def _serve(
        self,
        reply: "_Reply",
        name: str,
        arguments: object,
        asker: Asker,
        identify: Callable[[], object],
        handed: Callable[[str, Asker], None],
    ) -> None:
        watching = Watching(progress=reply.progress)
        try:
            # Held by no name here, so that the tool can let go of them.
            given, arguments = [arguments], None
            told = still_known(await self._tools.call(name, given.pop(), asker, watching), identify)
            if told.collectable is not None:
                handed(told.collectable, asker)
            message = wire.response(reply.request_id, wire.called(told, modern=True))
        except Exception:
            # A call that gets no reply keeps its agent waiting for ever.
            log.exception("a call of %r could not be served", name)
            message = wire.error(reply.request_id, wire.INTERNAL_ERROR, "Internal error")
        await reply.finish(message)

    def _handed(
        self,
        connection: Hashable | None,
        request_id: RequestId,
        good_for: float | None,
        inquiry: str,
        asker: Asker,
    ) -> None:
        if connection is not None:
            self._tools.evidence.handed(connection, request_id, inquiry, asker.caller, good_for=good_for)


class _Reply:
    """What a call is answered with: one document, or events once there was one before the result."""

    __slots__ = ("_scope", "_send", "_sending", "_started", "_token", "request_id")

    def __init__(self, scope: Scope, send: Send, request_id: RequestId, token: str | int | None) -> None:
        self.request_id = request_id
        self._scope = scope
        self._send = send
        self._token = token
        self._started = False
        self._sending: asyncio.Task[None] | None = None

    def progress(self, count: int, sentence: str) -> None:
        """Show a sign of life: to a client that asked for none, one that no proxy takes for silence."""
        # A client that does not read gets no second one before it has taken the first.
        if self._sending is None:
            event = PING if self._token is None else _event(wire.progress(self._token, count, sentence))
            self._sending = asyncio.get_running_loop().create_task(self._sent(event))

    async def finish(self, message: Message) -> None:
        """Send the result, after what is still being sent."""
        if self._sending is not None:
            await self._sending
        if not self._started:
            await Json(message)(self._scope, _nothing, self._send)
            return
        await self._send({"type": "http.response.body", "body": _event(message), "more_body": False})

    async def _sent(self, event: bytes) -> None:
        try:
            if not self._started:
                self._started = True
                await self._send(
                    {"type": "http.response.start", "status": 200, "headers": list(STREAM_HEADERS)}
                )
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
        finally:
            self._sending = None


def _event(message: Message) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % wire.encoded(message).rstrip(b"\n")


async def _nothing() -> Message:
    """A reply is sent whole: nothing is received meanwhile."""
    return {"type": "http.disconnect"}
