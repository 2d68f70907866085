"""Bodies: reading a request's, noticing its end, and writing a JSON document as a reply's."""

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from upcall.http.errors import TooLarge
from upcall.http.whole_reply import WHOLE
from upcall.ports.json_reading import writable


async def read_body(receive: Receive, *, most: int | None = None) -> bytes:
    """The whole body of a request. The guard limits every body; `most` is for a route that takes less.

    Raises:
        ClientDisconnect: if the connection ended before the body did.
        TooLarge: if there are more than `most` bytes.
    """
    # One buffer, not a list: a client may send a large body in very small parts.
    body = b""
    rest = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        if body:
            rest += message.get("body", b"")
        else:
            body = message.get("body", b"")
        if most is not None and len(body) + len(rest) > most:
            raise TooLarge(most)
        if not message.get("more_body", False):
            return body + rest if rest else body


async def disconnected(receive: Receive) -> None:
    """Return once the client has closed its connection; to be called after the body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Json(Response):
    """A document as a reply: bytes are sent as they are, anything else is written compactly."""

    # The framework's constructor is general; this one runs for every request.
    def __init__(self, document: object, status: int = 200) -> None:
        self.status_code = status
        self.background = None
        self.body = document if isinstance(document, bytes) else encode(document)
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", b"application/json"),
        ]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, in one write where the connection can."""
        whole = scope.get(WHOLE)
        if whole is None or not whole(self.status_code, self.body):
            await super().__call__(scope, receive, send)


def encode(document: object) -> bytes:
    """A document as compact JSON; what JSON cannot express is replaced."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # Kept by an earlier version, which took in what it could not write again.
        return orjson.dumps(writable(document))
