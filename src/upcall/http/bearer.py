"""Bearer tokens: who sends an HTTP request. Routes of the API call `admit`; a mounted application stands behind `RequiresToken`."""

from collections.abc import Callable
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import Unauthenticated
from upcall.domain.roles import Caller
from upcall.http.errors import failure
from upcall.http.gate import KNOWN

CALLER = "upcall.caller"
"""The key in a request's scope under which `RequiresToken` leaves the caller."""


class RequiresToken:
    """Passes a request on if its token is valid, with the caller in its scope; replies 401 otherwise."""

    def __init__(
        self, access: Access, app: ASGIApp, mark: Callable[[Scope, Caller], None] | None = None
    ) -> None:
        self._access = access
        self._app = app
        self._mark = mark

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            caller = await admit(self._access, scope)
        except Unauthenticated as problem:
            await failure(problem)(scope, receive, send)
            return
        scope[CALLER] = caller
        if any(value[-1:] in b" \t" for _, value in scope["headers"] if value):
            # White space around a value is no part of it, but the parser leaves what stands behind it.
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if self._mark is not None:
            self._mark(scope, caller)
        await self._app(scope, receive, send)


async def admit(access: Access, scope: Scope, *, monitors: bool = False) -> Caller:
    """The caller of a request, a monitor only where `monitors` are let in. The gate counts its connection as a known one.

    Raises:
        Unauthenticated: if its token is missing or not valid.
    """
    caller = await access.admit(token_of(scope), monitors=monitors)
    scope[KNOWN] = True
    return caller


def caller_of(scope: Scope) -> Caller:
    """The caller that `RequiresToken` found."""
    return cast("Caller", scope[CALLER])


def token_of(scope: Scope) -> str:
    """The token that a request carries; empty when there is none."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, secret = cast("bytes", value).partition(b" ")
            return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
    return ""


def header_of(scope: Scope, wanted: bytes) -> str | None:
    """The first header of that name, in lower case."""
    for name, value in scope["headers"]:
        if name == wanted:
            return cast("bytes", value).decode("latin-1")
    return None
