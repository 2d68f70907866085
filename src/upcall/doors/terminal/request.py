"""One request of a hook to the daemon, over a bare socket: a library for HTTP would take longer to load than the rest of a hook."""

import json
import os
import select
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

from upcall.home.files import Home

PATH = "/hooks/terminal"
CONNECTING = 0.2
"""Seconds in which a daemon of this machine has taken a connection; one elsewhere gets more."""

CONNECTING_ELSEWHERE = 5.0
LOOK = 0.25
"""Seconds between two looks at the terminal."""

LARGEST = 4 * 1024 * 1024


class UnreachableError(Exception):
    """No daemon took the request, or its connection broke before the reply."""


class RefusedError(UnreachableError):
    """The daemon does not take this request, and would not take it later."""


class Address(NamedTuple):
    """A daemon and the token for it; `here` says that it is the one of this machine's home."""

    url: str
    token: str
    here: bool


def address(home: Home) -> Address | None:
    """The daemon that `UPCALL_URL` names, or else the one of the home; None if none runs."""
    url = os.environ.get("UPCALL_URL", "")
    if url:
        return Address(url.rstrip("/"), os.environ.get("UPCALL_TOKEN", ""), here=False)
    running = home.running()
    return None if running is None else Address(running.url, running.token, here=True)


def post(to: Address, body: Mapping[str, object], look: Callable[[], object]) -> Mapping[str, object]:
    """The daemon's reply. `look` is called a few times in a second while it is awaited, and may raise to end that.

    Raises:
        RefusedError: if the daemon does not take the request.
        UnreachableError: if there is no reply.
    """
    try:
        connection = _connected(to)
    except (OSError, ValueError) as problem:
        raise UnreachableError from problem
    with connection:
        try:
            connection.sendall(_request(to, json.dumps(body).encode()))
            return _reply(_read(connection, look))
        except (OSError, ValueError) as problem:
            raise UnreachableError from problem


def _connected(to: Address) -> socket.socket:
    scheme, _, rest = to.url.partition("://")
    host, _, port = (
        rest.partition("/")[0].rpartition(":")
        if ":" in rest.partition("/")[0]
        else (rest.partition("/")[0], "", "")
    )
    secure = scheme == "https"
    patience = CONNECTING if to.here else CONNECTING_ELSEWHERE
    connection = socket.create_connection((host.strip("[]"), int(port or (443 if secure else 80))), patience)
    connection.settimeout(CONNECTING_ELSEWHERE)
    if not secure:
        return connection
    import ssl  # noqa: PLC0415 - only a daemon elsewhere needs it

    return ssl.create_default_context().wrap_socket(connection, server_hostname=host.strip("[]"))


def _request(to: Address, body: bytes) -> bytes:
    host, _, path = to.url.partition("://")[2].partition("/")
    lines = (
        # 1.0: the reply comes in one piece and ends with the connection.
        f"POST {'/' + path if path else ''}{PATH} HTTP/1.0",
        f"Host: {host}",
        f"Authorization: Bearer {to.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _read(connection: socket.socket, look: Callable[[], object]) -> bytes:
    received = bytearray()
    while len(received) <= LARGEST:
        # A reply that is there already is read: the daemon has handed an answer over by it.
        if not select.select([connection], [], [], LOOK)[0]:
            look()
        elif part := connection.recv(65536):
            received += part
        else:
            return bytes(received)
    raise ValueError("the reply is too large")


def _reply(received: bytes) -> Mapping[str, object]:
    head, _, body = received.partition(b"\r\n\r\n")
    status = b"".join(head.split(b" ")[1:2])
    if status.startswith(b"4"):
        raise RefusedError
    if status != b"200":
        raise ValueError("the daemon could not serve the request")
    reply = json.loads(body)
    if not isinstance(reply, dict):
        raise ValueError("the reply is no object")  # noqa: TRY004 - one kind of error for every reply that is none
    return reply
