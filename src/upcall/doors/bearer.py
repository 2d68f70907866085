"""Who sends an HTTP request: a thin layer in front of the doors that looks at the bearer token."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import Unauthenticated
from upcall.domain.roles import Caller
from upcall.http.gate import KNOWN

CALLER = "upcall.caller"
"""Where a request's scope says whose it is."""

CHALLENGE = (b"www-authenticate", b'Bearer realm="upcall"')


class Guarded:
    """Lets a request through if it brings a token, and says whose it is."""

    def __init__(
        self, access: Access, app: ASGIApp, mark: Callable[[Scope, Caller], None] | None = None
    ) -> None:
        self._access = access
        self._app = app
        self._mark = mark

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it with 401."""
        try:
            caller = await self._access.admit(token_of(scope))
        except Unauthenticated as problem:
            error = {"code": problem.code, "message": problem.message, "hint": problem.hint}
            await respond(send, 401, {"error": error}, [CHALLENGE])
            return
        scope[CALLER] = caller
        scope[KNOWN] = True
        if any(value[-1:] in b" \t" for _, value in scope["headers"] if value):
            # White space around a value is no part of it, but the parser leaves what stands behind it.
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if self._mark is not None:
            self._mark(scope, caller)
        await self._app(scope, receive, send)


def caller_of(scope: Scope) -> Caller:
    """Whose request it is, once it was let through."""
    return cast("Caller", scope[CALLER])


def token_of(scope: Scope) -> str:
    """The secret of a request, empty if it brings none."""
    scheme, _, secret = (header_of(scope, b"authorization") or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def header_of(scope: Scope, name: bytes) -> str | None:
    """A header by its name in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return cast("bytes", value).decode("latin-1")
    return None


async def respond(
    send: Send, status: int, body: Mapping[str, object], headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Answer with JSON."""
    content = json.dumps(body).encode()
    start = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": content})
