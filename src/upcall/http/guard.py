"""The guard in front of every route: it checks host, origin and the size of bodies, and turns errors into replies.

It knows neither inquiries nor tokens. It is plain ASGI, since it runs for every request.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from upcall.domain.errors import InvalidRequest, UpcallError
from upcall.http.errors import ForeignHost, ForeignOrigin, TooLarge, failure, http_failure, internal_failure
from upcall.http.whole_reply import SECURITY, WHOLE, Whole

logger = logging.getLogger(__name__)

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
POLICY_VIOLATION = 1008
ANSWER_LINKS = "/a/"
"""Pages that need no sign-in beside their address. They send no referrer, so browsers call their origin `null`."""
ANSWERS = "/answer"
"""How the paths end that take answers, with which people may send files."""


class Guard:
    """Wraps the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit: int,
        answer_limit: int = 0,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._limits = body_limit, max(answer_limit, body_limit)
        self._hosts = LOOPBACK | {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        # Nearly all requests have one of a few names.
        self._is_ours = lru_cache(maxsize=64)(self._host_is_ours)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or reply with an error."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        # The framework's routes raise their errors instead of writing text where they see an application.
        scope["app"] = self
        outgoing = _Outgoing(send, scope.get(WHOLE))
        scope[WHOLE] = outgoing.send_whole
        try:
            meter = self._admit(scope, receive, outgoing)
            await self._app(scope, receive if meter is None else meter.receive, outgoing.send)
            if meter is not None and meter.exceeded and not outgoing.started:
                raise TooLarge(meter.limit)
        # The last place where an error can become a reply.
        except Exception as error:  # noqa: BLE001
            await _report(error, scope, receive, outgoing)
        finally:
            # It refers to what the scope belongs to, and both would stay until a collection.
            del scope[WHOLE]

    def _admit(self, scope: Scope, receive: Receive, outgoing: "_Outgoing") -> "_Meter | None":
        """Check the headers; a body without `Content-Length` gets a meter."""
        hosts: list[bytes] = []
        origins: list[bytes] = []
        length: bytes | None = None
        chunked = False
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
            elif name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                chunked = True
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise _foreign_host(hosts)
        if origins and not (origins == [b"null"] and scope["path"].startswith(ANSWER_LINKS)):
            self._check_origins(origins, hosts[0])
        limit = self._limits[scope["path"].endswith(ANSWERS)]
        if length is not None and not chunked:
            _check_length(length, limit)
            return None
        if scope["type"] == "http" and (chunked or scope["method"] not in ("GET", "HEAD")):
            outgoing.meter = _Meter(receive, limit)
            return outgoing.meter
        return None

    def _host_is_ours(self, host: bytes) -> bool:
        name = host.decode("latin-1").lower()
        return name in self._hosts or _without_port(name) in self._hosts

    def _check_origins(self, origins: Iterable[bytes], host: bytes) -> None:
        called = host.decode("latin-1").lower()
        for sent in origins:
            origin = sent.decode("latin-1").lower()
            if origin not in self._origins and _authority(origin) != called:
                raise ForeignOrigin(
                    f"requests from pages of {origin!r} are not taken",
                    hint="open Upcall's own address, or set `public_url` to the address that people use",
                )


def _check_length(length: bytes, limit: int) -> None:
    if not length.isdigit():
        raise InvalidRequest(f"Content-Length {length.decode('latin-1')!r} is not a number")
    # More digits are too large in any case, and slow to convert.
    if len(length) > 18 or int(length) > limit:
        raise TooLarge(limit)


class _Outgoing:
    """Adds missing security headers, and notes whether the response has started."""

    __slots__ = ("_send", "_whole", "meter", "started")

    def __init__(self, send: Send, whole: Whole | None) -> None:
        self._send = send
        self._whole = whole
        self.started = False
        self.meter: _Meter | None = None

    def send_whole(self, status: int, body: bytes) -> bool:
        """Send a JSON reply in one write, unless a body is metered: what was cut off gets an error instead."""
        if self._whole is None or self.meter is not None:
            return False
        self.started = self._whole(status, body)
        return self.started

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # A mounted application may have made a reply of a body that was cut off; the error goes out instead.
            if self.meter is not None and self.meter.exceeded and not self.meter.told:
                self.meter.told = True
                raise TooLarge(self.meter.limit)
            self.started = True
            headers = [*message.get("headers", ())]
            given = {name for name, _ in headers}
            # A page has a referrer policy of its own: without one a browser hides the origin of our own forms, too.
            headers += [each for each in SECURITY if each[0] not in given]
            message["headers"] = headers
        await self._send(message)


class _Meter:
    """Counts the bytes of a body without `Content-Length`."""

    __slots__ = ("_count", "_receive", "exceeded", "limit", "told")

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._count = 0
        self.limit = limit
        self.exceeded = False
        self.told = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._count += len(message.get("body", b""))
        if self._count > self.limit:
            self.exceeded = True
            raise TooLarge(self.limit)
        return message


async def _report(error: Exception, scope: Scope, receive: Receive, outgoing: _Outgoing) -> None:
    if isinstance(error, ClientDisconnect):
        return
    if outgoing.started or scope["type"] == "websocket":
        if isinstance(error, UpcallError) and not outgoing.started:
            await outgoing.send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": error.code})
            return
        # Too late for a reply: the server cuts the connection, so that no client takes a part for the whole.
        raise error
    if outgoing.meter is not None:
        outgoing.meter.told = True
    await _response(error)(scope, receive, outgoing.send)


def _response(error: Exception) -> Response:
    match error:
        case UpcallError():
            return failure(error)
        case HTTPException():
            return http_failure(error)
        case _:
            logger.error("unhandled error", exc_info=error)
            return internal_failure()


def _foreign_host(hosts: list[bytes]) -> ForeignHost:
    named = ", ".join(repr(host.decode("latin-1")) for host in hosts) or "no host"
    return ForeignHost(
        f"this request is addressed to {named}, which is not a name of this daemon",
        hint="use 127.0.0.1 or localhost, or set `public_url` to the address people reach it by",
    )


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _authority(origin: str) -> str | None:
    """The host and port of an origin; `null` and anything odd has none."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc if parts.scheme in ("http", "https") and not parts.path else None
