"""HTTP/1.1 for the client: one connection, on whichever event loop runs. It knows neither tokens nor inquiries.

An HTTP library takes longer to import than everything else in a program that asks; what is needed of one is a page.
"""

import ssl
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from upcall.client.errors import Unreachable

CONNECT_SECONDS = 10.0
LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 64 * 1024 * 1024

BROKEN = (
    OSError,  # a time-out and a certificate that is not trusted are such errors too
    ValueError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.DelimiterNotFound,
    anyio.EndOfStream,
    anyio.IncompleteRead,
)
"""What a connection raises when it is lost, or when the other side does not speak HTTP."""


class Address(NamedTuple):
    """Where a daemon is."""

    url: str
    host: str
    port: int
    tls: bool
    authority: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> Self:
        """The address in a URL.

        Raises:
            Unreachable: if there is none in it.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Unreachable(f"{url!r} is not an address", hint="use one like http://127.0.0.1:7391")
        tls = parts.scheme == "https"
        authority = parts.netloc.rpartition("@")[2]
        return cls(url, parts.hostname, port or (443 if tls else 80), tls, authority, parts.path.rstrip("/"))


class Reply(NamedTuple):
    """What came back; `last` says that the connection is closed behind it."""

    status: int
    content: bytes
    last: bool


class Wire:
    """An open connection."""

    def __init__(self, stream: ByteStream, address: Address) -> None:
        self._stream = stream
        self._received = BufferedByteReceiveStream(stream)
        self._address = address
        self._is_owed_a_reply = False

    @classmethod
    async def connect(cls, address: Address) -> Self:
        """Open a connection.

        Raises:
            Unreachable: if that fails.
        """
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                stream: ByteStream
                if address.tls:
                    context = ssl.create_default_context()
                    stream = await anyio.connect_tcp(
                        address.host, address.port, ssl_context=context, tls_standard_compatible=False
                    )
                else:
                    stream = await anyio.connect_tcp(address.host, address.port)
        except BROKEN as problem:
            raise unreachable(address, problem) from problem
        return cls(stream, address)

    async def close(self) -> None:
        """Hang up at once."""
        await anyio.aclose_forcefully(self._stream)

    async def exchange(self, method: str, path: str, token: str, body: bytes | None) -> Reply:
        """Send a request and wait for its reply. Raises one of `BROKEN` if the connection is lost."""
        await self.settle()
        await self._send(method, path, token, body)
        return await self._reply()

    async def tell(self, method: str, path: str, token: str) -> None:
        """Send a request without waiting for its reply. Raises one of `BROKEN` if the connection is lost."""
        await self.settle()
        await self._send(method, path, token, b"")
        self._is_owed_a_reply = True

    async def settle(self) -> None:
        """Wait for the reply that nothing waited for. Raises one of `BROKEN` if there is no connection after it."""
        if self._is_owed_a_reply:
            owed = await self._reply()
            self._is_owed_a_reply = False
            if owed.last:
                raise anyio.EndOfStream

    async def _send(self, method: str, path: str, token: str, body: bytes | None) -> None:
        lines = [
            f"{method} {self._address.prefix}{path} HTTP/1.1",
            f"Host: {self._address.authority}",
            "Accept: application/json",
            f"Authorization: Bearer {token}",
        ]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        await self._stream.send("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b""))

    async def _reply(self) -> Reply:
        head = await self._received.receive_until(b"\r\n\r\n", LARGEST_HEAD)
        first, *rest = head.decode("latin-1").split("\r\n")
        version, _, status = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError("the reply is not HTTP")
        pairs = (entry.partition(":") for entry in rest)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        last = headers.get("connection", "").lower() == "close"
        if "chunked" in headers.get("transfer-encoding", ""):
            return Reply(int(status[:3]), await self._chunks(), last)
        if "content-length" in headers:
            return Reply(int(status[:3]), await self._exactly(int(headers["content-length"])), last)
        return Reply(int(status[:3]), b"" if status[:3] == "204" else await self._rest(), last=True)

    async def _exactly(self, size: int) -> bytes:
        if not 0 <= size <= LARGEST_BODY:
            raise ValueError(f"the reply has {size} bytes")
        return await self._received.receive_exactly(size) if size else b""

    async def _chunks(self) -> bytes:
        content = b""
        while True:
            size = await self._received.receive_until(b"\r\n", LARGEST_HEAD)
            chunk = (await self._exactly(int(size.split(b";")[0], 16) + 2))[:-2]
            if not chunk:
                return content
            content += chunk

    async def _rest(self) -> bytes:
        content = b""
        try:
            while len(content) <= LARGEST_BODY:
                content += await self._received.receive()
        except anyio.EndOfStream:
            return content
        raise ValueError("the reply has no end")


def unreachable(address: Address, problem: BaseException) -> Unreachable:
    """The error for a connection that could not be opened, or was lost."""
    # The attempts for each of a name's addresses are grouped; the first one says enough.
    while isinstance(problem.__cause__, BaseExceptionGroup | OSError):
        problem = problem.__cause__
    if isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return Unreachable(
        f"cannot reach Upcall at {address.url}: {(why or type(problem).__name__).lower()}",
        hint="`upcall up` starts it and shows what it says",
    )
