"""The HTTP doors of MCP, which import the SDK with the first request.

The import takes most of a second, for which a shell or a pipe should not have to wait.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.doors.mcp.sticky import Sticky, messages_path
from upcall.doors.mcp.tools import Tools
from upcall.http.bearer import RequiresToken


class LazyDoor:
    """Put `routes()` into an application, and enter `lifespan()` in its lifespan. `replica` is the name of its daemon among others.

    `further` makes more routes from the guarded applications of the older SSE, by path.
    """

    def __init__(
        self,
        tools: Tools,
        access: Access,
        *,
        replica: str = "",
        further: Callable[[Mapping[str, ASGIApp]], list[Route]] = lambda _: [],
        sessions: int = 500,
    ) -> None:
        self._sessions = sessions
        self._replica = replica
        self._messages = messages_path(replica)
        self._tools = tools
        self._access = access
        self._further = further
        self._wanted = asyncio.Event()
        self._opened: asyncio.Future[dict[str, Route]] = asyncio.get_running_loop().create_future()

    def routes(self) -> list[Route]:
        """The routes of all MCP transports over HTTP."""
        # A request without a valid token is refused before anything is imported.
        streamable: ASGIApp = _Forward(self, "/mcp")
        if self._replica:
            streamable = Sticky(streamable, self._replica)
        older = {path: RequiresToken(self._access, _Forward(self, path)) for path in ("/sse", self._messages)}
        plain = {"/mcp": RequiresToken(self._access, streamable)} | older
        return [*(Route(path, door) for path, door in plain.items()), *self._further(older)]

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncIterator[None]:
        """Import and start the SDK once the first request has come; stop it at the end."""
        # The SDK has to be entered and left by the same task, so not by that of a request.
        keeper = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def route(self, path: str) -> Route:
        """The route of `McpDoor` for a path, once it is there."""
        self._wanted.set()
        # A request that is cancelled must not cancel the import for the others.
        return (await asyncio.shield(self._opened))[path]

    async def _keep(self) -> None:
        await self._wanted.wait()
        try:
            # In a thread, so that requests to other doors are served meanwhile.
            await asyncio.to_thread(import_module, "upcall.doors.mcp.server")
            # At the top it would be imported at every start of the daemon.
            from upcall.doors.mcp.server import McpDoor  # noqa: PLC0415

            door = McpDoor(self._tools, self._access, messages=self._messages, most_sessions=self._sessions)
            async with door.lifespan():
                self._opened.set_result({route.path: route for route in door.routes()})
                await asyncio.get_running_loop().create_future()
        except Exception as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            raise


class _Forward:
    """An ASGI application that passes requests on once the SDK is imported."""

    def __init__(self, door: LazyDoor, path: str) -> None:
        self._door = door
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = await self._door.route(self._path)
        await route.app(scope, receive, send)
