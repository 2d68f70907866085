"""A small HTTP/1.1 client for talking to a daemon. It knows neither tokens nor inquiries.

`http.client` brings the e-mail package along, which alone takes three times as long as starting Python; what a
command needs of HTTP is a page long.
"""

# `socket` is for names and certificates; a daemon on this machine is an address, and its import costs a third of
# an interpreter's start.
import _socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from upcall.cli.failures import Unreachable

CONNECT_SECONDS = 10.0
LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 64 * 1024 * 1024


Reply = tuple[int, bytes]
"""The status and the body of what came back."""


class Wire:
    """One connection, kept between requests and opened again when the other side closed it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Unreachable(f"{url!r} is not an address", hint="use one like http://127.0.0.1:7391")
        self.url = url
        self._tls = parts.scheme == "https"
        self._address = (parts.hostname, parts.port or (443 if self._tls else 80))
        self._prefix = parts.path.rstrip("/")
        self._host = parts.netloc.rpartition("@")[2]
        self._socket: _socket.socket | None = None
        self._unread = b""

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._unread = None, b""

    def request(
        self, method: str, path: str, headers: dict[str, str], body: bytes = b"", *, timeout: float
    ) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            Unreachable: if there is no connection or it breaks.
        """
        return self._replies(self._message(method, path, headers, body), 1, timeout)[0]

    def get_each(self, paths: Sequence[str], headers: dict[str, str], *, timeout: float) -> list[Reply]:
        """Send GET requests one behind the other in one write, and wait for their replies in that order.

        Raises:
            Unreachable: if there is no connection or it breaks.
        """
        together = b"".join(self._message("GET", path, headers) for path in paths)
        return self._replies(together, len(paths), timeout)

    def _message(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", f"Host: {self._host}", "Accept: application/json"]
        if body or method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body

    def _replies(self, messages: bytes, count: int, timeout: float) -> list[Reply]:
        kept = self._socket is not None
        try:
            return self._exchange(messages, count, timeout)
        except (OSError, ValueError) as problem:
            self.close()
            # A connection that was kept may have been closed meanwhile: that says nothing about the daemon.
            if not kept or isinstance(problem, TimeoutError):
                raise self._unreachable(problem) from problem
        try:
            return self._exchange(messages, count, timeout)
        except (OSError, ValueError) as problem:
            self.close()
            raise self._unreachable(problem) from problem

    def _exchange(self, messages: bytes, count: int, timeout: float) -> list[Reply]:
        connection = self._socket or self._connect()
        connection.settimeout(timeout)
        connection.sendall(messages)
        return [self._reply() for _ in range(count)]

    def _reply(self) -> Reply:
        status, headers = self._head()
        if "chunked" in headers.get("transfer-encoding", ""):
            body = self._chunks()
        elif "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        else:
            body = b"" if status == 204 else self._until_end()
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, body

    def _connect(self) -> _socket.socket:
        host, port = self._address
        connection: _socket.socket
        if self._tls or not host.replace(".", "").isdigit():
            import socket

            connection = named = socket.create_connection((host, port), CONNECT_SECONDS)
            if self._tls:
                import ssl

                connection = ssl.create_default_context().wrap_socket(named, server_hostname=host)
        else:
            connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
            # Kept before it connects, so that `close` also ends an attempt that failed.
            self._socket = connection
            connection.settimeout(CONNECT_SECONDS)
            connection.connect((host, port))
        connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self._socket, self._unread = connection, b""
        return connection

    def _head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self._unread:
            self._more()
            if len(self._unread) > LARGEST_HEAD:
                raise ValueError("the reply has no end of its head")
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        version, _, status = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError("the reply is not HTTP")
        pairs = (entry.partition(":") for entry in rest)
        return int(status[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _exactly(self, size: int) -> bytes:
        if not 0 <= size <= LARGEST_BODY:
            raise ValueError(f"the reply has {size} bytes")
        while len(self._unread) < size:
            self._more()
        body, self._unread = self._unread[:size], self._unread[size:]
        return body

    def _chunks(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self._unread:
                self._more()
            size, _, self._unread = self._unread.partition(b"\r\n")
            chunk = self._exactly(int(size.split(b";")[0], 16) + 2)[:-2]
            if not chunk:
                return body
            body += chunk

    def _until_end(self) -> bytes:
        try:
            while len(self._unread) <= LARGEST_BODY:
                self._more()
        except ConnectionError:
            pass
        body = self._unread
        self.close()
        return body

    def _more(self) -> None:
        data = self._socket.recv(65536) if self._socket is not None else b""
        if not data:
            raise ConnectionResetError("the connection was closed")
        self._unread += data

    def _unreachable(self, problem: Exception) -> Unreachable:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        return Unreachable(
            f"cannot reach Upcall at {self.url}: {why.lower()}",
            hint="`upcall up` starts it and shows what it says",
        )
