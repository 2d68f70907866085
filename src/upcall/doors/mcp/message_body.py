"""Bodies that the MCP SDK parses in the event loop: one that would hold it up is refused before the SDK sees it."""

from collections.abc import Mapping, Sequence
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from upcall.doors.mcp import wire
from upcall.doors.mcp.broken_line import id_in
from upcall.doors.mcp.checks import ProtocolError, message_of
from upcall.http.body import Json, read_body
from upcall.http.errors import TooLarge, failure
from upcall.ports.unhurried import LIGHT, unhurried

LARGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes of one message, as in the SDK."""

LARGEST_OLDER_MESSAGE = 2 * 1024 * 1024
"""The same for the older transport, where the SDK also writes each message into three lines of a log that is not kept."""

MOST_VALUES = 50_000
"""Values of one message. The SDK reads, checks and writes each of them one after the other."""


class BoundedMessage:
    """Reads the body of a POST, checks it in a thread if it is long, and passes the request on with it."""

    def __init__(self, app: ASGIApp, *, most: int = LARGEST_MESSAGE) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await read_body(receive, most=self._most)
            if len(body) > LIGHT:
                await unhurried(len(body), lambda: check_message(body))
        except TooLarge as problem:
            await failure(problem)(scope, receive, send)
        except ProtocolError as refusal:
            error = wire.error(refusal.request_id, refusal.code, refusal.message, refusal.data)
            await Json(error, 400)(scope, receive, send)
        else:
            replayed = with_body(body, receive)
            # A request may wait for long, and what it was sent is not needed then.
            del body
            await self._app(scope, replayed, send)


def check_message(body: bytes) -> None:
    """Refuse what is no message, or one of too many values.

    Raises:
        ProtocolError: with the id of the request, where one is found.
    """
    if count_values(message_of(body)) > MOST_VALUES:
        raise ProtocolError(wire.INVALID_REQUEST, "the message holds too many values", request_id=id_in(body))


def count_values(document: object) -> int:
    """The number of values and names in a document; counting stops beyond `MOST_VALUES`."""
    found = 0
    waiting = [document]
    while waiting and found <= MOST_VALUES:
        match waiting.pop():
            case dict() as fields:
                found += 2 * len(cast("Mapping[str, object]", fields))
                waiting.extend(cast("Mapping[str, object]", fields).values())
            case list() as items:
                found += len(cast("Sequence[object]", items))
                waiting.extend(cast("Sequence[object]", items))
            case _:
                pass
    return found


def with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, and then what comes after it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed
