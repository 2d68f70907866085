"""The older SSE under a path that carries an agent's token, for clients that are given an address and nothing else.

`/sse/TOKEN` is `/sse`, and what such a client posts goes to `/sse/TOKEN/messages/`. Addresses end up in more places than
headers do, so only agents' tokens are taken here, which can ask and never answer.
"""

from collections.abc import Mapping

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import Unauthenticated

SSE = "/sse"


class _SecretPath:
    """Takes the token out of the path, and passes the request on as if it had come in a header."""

    def __init__(self, access: Access, app: ASGIApp, path: str) -> None:
        self._access = access
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        secret = str(scope["path_params"]["secret"])
        headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        if await self._is_an_agents(secret):
            headers.append((b"authorization", f"Bearer {secret}".encode("latin-1", "replace")))
        # The SDK tells clients to post to a path below this one.
        inner = {**scope, "headers": headers, "path": self._path, "root_path": f"{SSE}/{secret}"}
        await self._app(inner, receive, send)

    async def _is_an_agents(self, secret: str) -> bool:
        try:
            return (await self._access.admit(secret)).is_agent
        except Unauthenticated:
            return False


def secret_routes(access: Access, doors: Mapping[str, ASGIApp]) -> list[Route]:
    """For each plain path of the older SSE the one with a token in it; `doors` say who may come in."""
    return [
        Route(f"{SSE}/{{secret}}{'' if path == SSE else path}", _SecretPath(access, door, path))
        for path, door in doors.items()
    ]
