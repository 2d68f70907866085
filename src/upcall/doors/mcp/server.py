"""MCP over HTTP on the official SDK: streamable HTTP at `/mcp`, the older SSE at `/sse`, both protocol eras.

It and `direct_calls` alone import the SDK, which costs most of a second. What the tools do is in `tools`; who may call
is decided here, by bearer token, before the SDK sees a request.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, cast
from weakref import WeakValueDictionary

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    JSONRPCMessage,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from upcall import __version__
from upcall.access.tokens import Access
from upcall.domain.answer.outcome import PARKED
from upcall.domain.errors import RateLimited, Unauthenticated
from upcall.domain.roles import Caller
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.checks import ProtocolError, is_id
from upcall.doors.mcp.definitions import INSTRUCTIONS, Definition
from upcall.doors.mcp.direct_calls import DirectCalls
from upcall.doors.mcp.elicitation import Shows
from upcall.doors.mcp.http_request import (
    asker_of,
    check_name,
    connection_of,
    ending,
    nothing_more,
    noting_session,
    unheard,
)
from upcall.doors.mcp.message_body import LARGEST_OLDER_MESSAGE, BoundedMessage
from upcall.doors.mcp.meta import CAPABILITIES, CLIENT_INFO, meta_of, name_in, progress_token_of
from upcall.doors.mcp.replay import Replay
from upcall.doors.mcp.rounds import call_in_rounds, takes_rounds
from upcall.doors.mcp.session_screen import session_screen
from upcall.doors.mcp.sessions import MOST_SESSIONS, SESSION_IDLE, OpenSessions
from upcall.doors.mcp.tasks import METHODS, Tasks
from upcall.doors.mcp.tools import ToolResult, Tools, still_known
from upcall.doors.mcp.watching import Watching
from upcall.http.bearer import RequiresToken, caller_of, header_of, token_of
from upcall.http.errors import MethodNotAllowed, failure

RAW_ARGUMENTS = "upcall/arguments"
"""Where arguments that are no object travel, so that their sender gets an error it can learn from."""

RETRY_MS = 1000
"""Milliseconds after which a client should come back for the rest of a broken stream."""

Context = ServerRequestContext[Any, Any]
Json = dict[str, Any]
_replay: ContextVar["Replay[JSONRPCMessage] | None"] = ContextVar("upcall_replay", default=None)


class McpDoor:
    """The HTTP doors of one broker. Put `routes()` into an application, and enter `lifespan()` in its lifespan."""

    def __init__(
        self,
        tools: Tools,
        access: Access,
        *,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] = (),
        session_idle: float = SESSION_IDLE,
        messages: str = "/messages/",
        most_sessions: int = MOST_SESSIONS,
    ) -> None:
        self.sessions = OpenSessions(most=most_sessions, idle=session_idle)
        self._tools = tools
        self._access = access
        self._listed: dict[tuple[str, ...], ListToolsResult] = {}
        self._schemas = {definition.name: definition.schema for definition in tools.definitions}
        # Off unless asked for: the application checks Host and Origin for every route.
        self._security = TransportSecuritySettings(
            enable_dns_rebinding_protection=allowed_hosts is not None,
            allowed_hosts=list(allowed_hosts or ()),
            allowed_origins=list(allowed_origins),
        )
        self.server: Server[Any] = Server(
            wire.NAME,
            version=__version__,
            title=wire.TITLE,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=cast("Any", self._call_tool),
            get_tool_input_schema=self._schemas.get,
        )
        self.server.extensions = wire.EXTENSIONS
        for method in METHODS:
            self.server.add_request_handler(method, RequestParams, self._task)
        # In place of the SDK's tracing, which costs time for every message, traced or not.
        self.server.middleware[:] = [self._observe]
        self._manager: StreamableHTTPSessionManager | None = None
        self._modern: ASGIApp
        self._messages = messages
        self._sse = SseServerTransport(messages, security_settings=self._security)
        self._replays: WeakValueDictionary[str, Replay[JSONRPCMessage]] = WeakValueDictionary()
        self._sending: set[asyncio.Task[None]] = set()

    def routes(self) -> list[Route]:
        """`/mcp`, `/sse` and the path that clients of the latter post to."""
        older = BoundedMessage(self._sse.handle_post_message, most=LARGEST_OLDER_MESSAGE)
        return [
            Route("/mcp", RequiresToken(self._access, BoundedMessage(self._streamable), self._mark)),
            Route("/sse", RequiresToken(self._access, self._older_sse, self._mark)),
            Route(self._messages, RequiresToken(self._access, older, self._mark)),
        ]

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncIterator[None]:
        """What must be running while requests are served."""
        self._manager = StreamableHTTPSessionManager(
            self.server,
            event_store=_Replaying(),
            security_settings=self._security,
            retry_interval=RETRY_MS,
            session_idle_timeout=self.sessions.idle,
            max_sessions=None,
        )
        otherwise = self._manager.handle_request
        direct = DirectCalls(self._tools, self._access, self._schemas, otherwise)
        # A door that checks hosts by itself leaves every request to the SDK, which does that.
        self._modern = otherwise if self._security.enable_dns_rebinding_protection else direct
        async with self._manager.run():
            yield

    def _mark(self, scope: Scope, caller: Caller) -> None:
        """Tell the SDK who it is: it then keeps a session for the token that opened it."""
        # All runs of an agent have its name, and none may go on with a session of another.
        run = None if caller.run is None else f"run-{caller.run}"
        scope["user"] = AuthenticatedUser(
            AccessToken(token="", client_id=caller.name, scopes=[], subject=run)
        )

    async def _streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._manager is not None, "enter lifespan() first"
        version = header_of(scope, b"mcp-protocol-version")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            # This era has no sessions, hence nothing to replay.
            await self._modern(scope, receive, send)
            return
        session = header_of(scope, b"mcp-session-id")
        if session is None:
            await self._open_session(scope, receive, send)
            return
        with _replaying(self._replays.get(session)):
            if scope["method"] == "DELETE":
                self._forget(caller_of(scope), session)
            else:
                self.sessions.touch(caller_of(scope), session)
            await self._manager.handle_request(scope, receive, send)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that belongs to no session yet; one that initializes opens its own."""
        assert self._manager is not None, "enter lifespan() first"
        await self._drop_sessions()
        replay = Replay[JSONRPCMessage]()
        try:
            with self.sessions.request(caller_of(scope)) as stop_counting, _replaying(replay):

                def opened(session: str) -> None:
                    stop_counting()
                    # The session's tasks hold the replay; once they end it is gone.
                    self._replays[session] = replay
                    self.sessions.opened(caller_of(scope), token_of(scope), session)

                await self._manager.handle_request(scope, receive, noting_session(opened, send))
        except RateLimited as problem:
            await failure(problem)(scope, receive, send)

    async def _drop_sessions(self) -> None:
        """Forget the sessions that are over, and end those of tokens that are not valid any more, such as a run's."""
        for caller, session in self.sessions.over(lambda name: name in self._replays):
            self._forget(caller, session)
        for caller, secret in self.sessions.secrets():
            try:
                self._access.identify(secret)
            except Unauthenticated:
                for session in self.sessions.of(caller):
                    self._forget(caller, session)
                    await self._end(session, caller)

    def _forget(self, caller: Caller, session: str) -> None:
        if self.sessions.closed(caller, session):
            # Nothing that the session was given can be proved by it any more.
            self._tools.evidence.gone((caller.name, session))

    async def _end(self, session: str, caller: Caller) -> None:
        """End a session as its client would."""
        assert self._manager is not None, "enter lifespan() first"
        scope = ending(session)
        self._mark(scope, caller)
        await self._manager.handle_request(scope, nothing_more, unheard)

    async def _older_sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await failure(MethodNotAllowed(scope["method"], "GET"))(scope, receive, send)
            return
        await self._drop_sessions()
        try:
            with self.sessions.request(caller_of(scope)):
                async with self._sse.connect_sse(scope, receive, send) as (incoming, outgoing):
                    await self.server.run(incoming, outgoing, self.server.create_initialization_options())
        except RateLimited as problem:
            await failure(problem)(scope, receive, send)

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = caller_of(cast("Request", ctx.request).scope)
        offered = self._tools.offered(caller)
        names = tuple(definition.name for definition in offered)
        if names not in self._listed:
            self._listed[names] = _listed(offered)
        return self._listed[names]

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | Json:
        meta = meta_of(ctx.params)
        said = ctx.session.client_params
        asker = asker_of(cast("Request", ctx.request), meta, said.client_info.name if said else "")
        arguments: object = params.arguments
        if params.arguments is not None and RAW_ARGUMENTS in params.arguments:
            arguments = params.arguments[RAW_ARGUMENTS]
        watching = Watching(progress=None if progress_token_of(meta) is None else self._progress(ctx))
        came = await self._called(ctx, params.name, arguments, asker, watching)
        if not isinstance(came, ToolResult):
            return came
        known = partial(self._access.identify, token_of(cast("Request", ctx.request).scope))
        told = still_known(came, known)
        self._handed(ctx, told, asker)
        return CallToolResult(
            content=[
                TextContent(type="text", text=told.text),
                *(
                    ImageContent(type="image", data=each.data, mime_type=each.media_type)
                    for each in told.pictures
                ),
            ],
            structured_content=wire.structured(told) if wire.has_structure(told) else None,
            is_error=told.is_error,
        )

    async def _called(
        self, ctx: Context, name: str, arguments: object, asker: Asker, watching: Watching
    ) -> ToolResult | Json:
        shows, sent = self._shows(ctx), ctx.params or {}
        if ctx.protocol_version in wire.MODERN_VERSIONS:
            if takes_rounds(sent, shows):
                return await call_in_rounds(self._tools, sent, arguments, asker, watching, shows)
        elif shows:
            key, screen = (
                connection_of(cast("Request", ctx.request), sent)[0],
                session_screen(ctx.session, ctx.request_id),
            )
            show = partial(self._tools.forms.show, key, asker=asker, shows=shows, screen=screen)
            told = await self._tools.call(name, arguments, asker, replace(watching, opened=show))
            if told.structured.get("status") != PARKED:
                # On the stream of this call, which ends with it.
                await self._tools.forms.closed(key, told.structured.get("id"))
            return told
        return await self._tools.call(name, arguments, asker, watching)

    def _shows(self, ctx: Context) -> Shows:
        """What the client puts before a person. In the handshake era it has said so once, later with every request."""
        meta, initialized = meta_of(ctx.params), ctx.session.client_params
        capabilities, client = meta.get(CAPABILITIES), name_in(meta.get(CLIENT_INFO))
        if initialized is not None and initialized.capabilities.elicitation is not None:
            capabilities = initialized.capabilities.model_dump(by_alias=True, exclude_none=True, mode="json")
            client = initialized.client_info.name
        said = cast("Request", ctx.request).headers.get("upcall-person")
        return self._tools.elicitation.shown_by(capabilities, client, said=said, version=ctx.protocol_version)

    def _handed(self, ctx: Context, told: ToolResult, asker: Asker) -> None:
        connection, good_for = connection_of(cast("Request", ctx.request), ctx.params)
        if told.collectable is not None and connection is not None:
            self._tools.evidence.handed(
                connection, ctx.request_id, told.collectable, asker.caller, good_for=good_for
            )

    async def _task(self, ctx: Context, params: RequestParams) -> Json:
        """Serve a request about a task."""
        request, sent = cast("Request", ctx.request), ctx.params or {}
        if ctx.protocol_version not in wire.MODERN_VERSIONS:
            raise MCPError(wire.METHOD_NOT_FOUND, "Method not found", ctx.method)
        try:
            check_name(request, sent)
            asker = asker_of(request, meta_of(sent))
            result, told = await Tasks(self._tools).do(ctx.method, sent, asker, self._shows(ctx))
        except ProtocolError as refusal:
            raise MCPError(refusal.code, refusal.message, refusal.data) from refusal
        if told is not None:
            self._handed(ctx, told, asker)
        return result

    def _progress(self, ctx: Context) -> Callable[[int, str], None]:
        pending: set[asyncio.Task[None]] = self._sending
        under_way: list[asyncio.Task[None]] = []

        def show(count: int, sentence: str) -> None:
            # A client that does not read gets no second sign of life before it has taken the first.
            if under_way and not under_way[0].done():
                return
            task = asyncio.get_running_loop().create_task(
                ctx.session.report_progress(count, message=sentence)
            )
            under_way[:] = [task]
            pending.add(task)
            task.add_done_callback(pending.discard)

        return show

    async def _observe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Every message passes here: it may be evidence, and its arguments may need help to get through."""
        params = ctx.params or {}
        connection = None if ctx.request is None else connection_of(cast("Request", ctx.request), params)[0]
        if connection is not None:
            given_up = params.get("requestId")
            if ctx.method == "notifications/cancelled":
                if is_id(given_up):
                    self._tools.evidence.missed(connection, cast("Hashable", given_up))
            else:
                self._tools.evidence.heard(connection)
        if ctx.method == "tools/call":
            arguments = params.get("arguments")
            if arguments is not None and not isinstance(arguments, Mapping):
                ctx = replace(ctx, params={**params, "arguments": {RAW_ARGUMENTS: arguments}})
        return await call_next(ctx)


class _Replaying(EventStore):
    """The SDK's side of `Replay`: finds the session's by the context that its tasks run in."""

    @override
    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        replay = _replay.get()
        return "0" if replay is None else replay.keep(stream_id, message)

    @override
    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        replay = _replay.get()
        found = None if replay is None else replay.after(last_event_id)
        if found is None:
            return None
        stream, messages = found
        for event_id, message in messages:
            await send_callback(EventMessage(message, event_id))
        return stream


@contextmanager
def _replaying(replay: "Replay[JSONRPCMessage] | None") -> Iterator[None]:
    """Let the tasks that the SDK starts for a request find their session's replay."""
    before = _replay.set(replay)
    try:
        yield
    finally:
        _replay.reset(before)


def _listed(offered: Sequence[Definition]) -> ListToolsResult:
    return ListToolsResult(tools=[Tool.model_validate(definition.document()) for definition in offered])
