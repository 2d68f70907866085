"""What an HTTP request to the MCP doors says about its client. It knows nothing of the SDK."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.types import Message, Scope, Send

from upcall.access.connected import is_resumable
from upcall.doors.mcp import wire
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.checks import ProtocolError
from upcall.doors.mcp.meta import (
    CLIENT_INFO,
    Meta,
    client_in,
    is_hurried,
    meta_of,
    program_of,
    request_key_of,
    session_of,
    thread_of,
    wait_of,
)
from upcall.http.bearer import caller_of

KEPT_ALIVE = 75.0
"""Seconds after which an idle connection has been closed; its port may then belong to another client."""


def asker_of(request: Request, meta: Meta, client: str = "") -> Asker:
    """Who calls, as the token and the request tell; `client` is what it was called in the handshake."""
    caller = caller_of(request.scope)
    session, program = session_of(meta), program_of(meta)
    asker = Asker.of(
        caller,
        door="mcp",
        session=session,
        program=program if is_resumable(program, session) else "",
        client_id=request.headers.get("mcp-session-id", ""),
        request_key=request_key_of(meta),
        thread=thread_of(meta),
        wait=wait_of(request.headers.get("upcall-wait")),
    )
    return replace(asker, hurried=is_hurried(client_in(meta.get(CLIENT_INFO)) or client_in(client), meta))


def connection_of(request: Request, params: object) -> tuple[Hashable | None, float | None]:
    """What tells this client from others, and for how long if not for good.

    A session where there is one. Without, only the network connection itself will do: a token may be shared by
    many agents, and what one of them says proves nothing about another.
    """
    caller = caller_of(request.scope)
    session = request.headers.get("mcp-session-id") or request.query_params.get("session_id")
    if session is None:
        session = session_of(meta_of(params))
    if session is not None:
        return (caller.name, session), None
    if request.client is None or not request.client.port:
        return None, None
    return (caller.name, request.client.host, request.client.port), KEPT_ALIVE


def check_name(request: Request, params: Mapping[str, object]) -> None:
    """The header by which proxies find the task has to name it.

    Raises:
        ProtocolError: if it names another one, or none.
    """
    if request.headers.get("mcp-name") != params.get("taskId"):
        raise ProtocolError(
            wire.HEADER_MISMATCH, "mcp-name header does not match the request body's 'taskId' parameter"
        )


def noting_session(opened: Callable[[str], None], send: Send) -> Send:
    """Find out which session a request opened."""

    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            for name, value in message.get("headers", ()):
                if name.lower() == b"mcp-session-id":
                    opened(value.decode("latin-1"))
        await send(message)

    return noting


def ending(session: str) -> Scope:
    """The request with which a client ends its session."""
    return {
        "type": "http",
        "method": "DELETE",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(b"mcp-session-id", session.encode("latin-1"))],
    }


async def nothing_more() -> Message:
    """A request without a body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def unheard(message: Message) -> None:
    """Take a response that has no reader."""
