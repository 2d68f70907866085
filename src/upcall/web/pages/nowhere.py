"""An address that leads nowhere: a page for a browser, JSON for everything else."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from upcall.http.errors import NotFound
from upcall.web.backend import Backend
from upcall.web.pages.site import Page, Site
from upcall.web.pages.visit import Visit

PROGRAMS = ("/v1/", "/mcp", "/sse", "/hooks/", "/channels/", "/static/")
"""Paths that only programs call: their `Accept` header is not looked at."""


class Nowhere:
    """What answers where no route does."""

    def __init__(self, backend: Backend) -> None:
        site = Site(backend.broker, backend.access, backend.settings, backend.pushed, backend.dispatch)
        self._page = Page(site, {"GET": _refused}, public=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say that there is nothing."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        path: str = scope["path"]
        is_read = scope["method"] in {"GET", "HEAD"} and not path.startswith(PROGRAMS)
        if is_read and "text/html" in Headers(scope=scope).get("accept", ""):
            await self._page({**scope, "path_params": {}}, receive, send)
            return
        raise NotFound(f"there is nothing at {path[:200]!r}", hint="GET /v1/openapi.json says what there is")


async def _refused(visit: Visit) -> Response:
    raise NotFound("there is no such page")
