"""JSON replies that are written whole. Uvicorn writes the head and the body apart, and checks each header on the way."""

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus

WHOLE = "upcall.whole"
"""The key in a request's scope of the function that sends such a reply."""

Whole = Callable[[int, bytes], bool]
"""Sends a JSON document with a status. Returns whether it was sent: otherwise it goes the ordinary way."""

Headers = tuple[tuple[bytes, bytes], ...]

SECURITY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Headers that every reply has."""


def written(status: int, body: bytes, server: Headers) -> bytes:
    """A JSON reply as it goes over the wire; `server` are the headers of the server itself."""
    return b"%bcontent-length: %d\r\n\r\n%b" % (_head(status, server), len(body), body)


# The server's own headers have the date in them: a few statuses each second.
@lru_cache(maxsize=64)
def _head(status: int, server: Headers) -> bytes:
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    headers = (*server, (b"content-type", b"application/json"), *SECURITY)
    return line + b"".join(b"%b: %b\r\n" % header for header in headers)
