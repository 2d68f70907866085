"""One request on its way to a handler, and the JSON in its reply.

Errors are raised; the guard turns them into responses.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import Caller
from upcall.ports.json_reading import read_json, writable

Body = Mapping[str, object]


@dataclass(slots=True)
class Call:
    """A request, its caller, and the parameters that its route knows."""

    scope: Scope
    receive: Receive
    caller: Caller
    params: Mapping[str, str] = field(default_factory=dict)
    known: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The id, ref or name in the path."""
        return self.params["name"]

    def query(self) -> Mapping[str, str]:
        """The parameters after the question mark.

        Raises:
            InvalidRequest: if the route does not know one; a filter that is misspelt must not widen a list.
        """
        raw: bytes = self.scope["query_string"]
        if not raw:
            return {}
        sent = dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))
        for name in sent:
            if name not in self.known:
                raise InvalidRequest(
                    f"there is no parameter {name!r}", hint=f"known here: {', '.join(self.known)}"
                )
        return sent

    def header(self, wanted: bytes) -> str | None:
        """The first header of that name, in lower case."""
        for name, value in self.scope["headers"]:
            if name == wanted:
                return cast("bytes", value).decode("latin-1")
        return None

    async def body(self) -> Body:
        """The JSON object that was sent; nothing at all is an empty one.

        Raises:
            InvalidRequest: if it is anything else.
        """
        return _object(await _read(self.receive))


Handler = Callable[[Call], Awaitable[ASGIApp]]
"""Takes a call and returns what is to be sent."""


class Json(Response):
    """A document: bytes are sent as they are, anything else is written compactly."""

    # The framework's constructor is general; this one runs for every request.
    def __init__(self, document: object, status: int = 200) -> None:
        self.status_code = status
        self.background = None
        self.body = document if isinstance(document, bytes) else encode(document)
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", b"application/json"),
        ]


def bearer(scope: Scope) -> str:
    """The token that a request carries; empty when there is none."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, secret = cast("bytes", value).partition(b" ")
            return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
    return ""


def encode(document: object) -> bytes:
    """A document as compact JSON; what JSON cannot express is replaced."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # Kept by an earlier version, which took in what it could not write again.
        return orjson.dumps(writable(document))


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _object(raw: bytes) -> Body:
    sent = read_json(raw) if raw and not raw.isspace() else {}
    if not isinstance(sent, dict):
        raise InvalidRequest("the body is not a JSON object", hint='send an object like {"text": "yes"}')
    return cast("Body", sent)
