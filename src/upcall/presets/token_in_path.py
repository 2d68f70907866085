"""`token_in_path`: the older SSE under a path with an agent's token, for clients that can be given only an address.

`/sse/TOKEN` is `/sse`, and such a client posts its messages to `/sse/TOKEN/messages/`. Addresses end up in more places
than headers do, so these routes accept only the tokens of agents, which can ask and never answer.
"""

from collections.abc import Mapping

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.config.presets.settings import PresetSettings
from upcall.domain.errors import Unauthenticated

SSE = "/sse"


def token_routes(settings: PresetSettings, access: Access, guarded: Mapping[str, ASGIApp]) -> list[Route]:
    """For each guarded path of the older SSE the one with a token in it; none without the setting."""
    if not settings.token_in_path:
        return []
    return [
        Route(f"{SSE}/{{token}}{'' if path == SSE else path}", _TokenInPath(access, app, path))
        for path, app in guarded.items()
    ]


class _TokenInPath:
    """Moves the token from the path into a header and passes the request on."""

    def __init__(self, access: Access, app: ASGIApp, path: str) -> None:
        self._access = access
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = str(scope["path_params"]["token"])
        headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        if await self._is_an_agents(token):
            headers.append((b"authorization", f"Bearer {token}".encode("latin-1", "replace")))
        # The SDK tells clients to post to a path below this one.
        inner = {**scope, "headers": headers, "path": self._path, "root_path": f"{SSE}/{token}"}
        await self._app(inner, receive, send)

    async def _is_an_agents(self, token: str) -> bool:
        try:
            return (await self._access.admit(token)).is_agent
        except Unauthenticated:
            return False
