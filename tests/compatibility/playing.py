"""What was said to a daemon, as data: HTTP calls and the lines of a pipe, to be said again to another daemon."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

Json = dict[str, Any]
PATIENCE = 60
_PLACE = re.compile(r"\{(\w+)\}")


class Daemon:
    """A running daemon, and everything that names it: tokens by their holder, and what earlier calls have made."""

    def __init__(self, home: Path) -> None:
        running = json.loads((home / "run.json").read_text())
        self.url: str = running["url"]
        self.pipe_port: int = running["pipe_port"]
        self.tokens = {name: (home / f"{name}.token").read_text().strip() for name in ("owner", "agent")}
        self.made: dict[str, str] = {}

    def call(self, exchange: Json) -> tuple[int, Any]:
        """Send a request as it was recorded, with `until` again after each event until the state is that."""
        after = 0
        while True:
            status, found = self._once(exchange)
            if "until" not in exchange or found["state"] == exchange["until"]:
                return status, found
            log = {"as": "owner", "call": f"GET /v1/events?after={after}&wait=10"}
            after = self._once(log)[1]["next_after"]

    def _once(self, exchange: Json) -> tuple[int, Any]:
        """Send a request; the names in braces are those of what earlier replies were saved as."""
        method, _, path = exchange["call"].partition(" ")
        path = _PLACE.sub(lambda name: self.made[name[1]], path)
        body = exchange.get("body")
        data = None if body is None else self._filled(json.dumps(body)).encode()
        headers = {"Content-Type": "application/json"}
        if exchange["as"]:
            headers["Authorization"] = f"Bearer {self.tokens[exchange['as']]}"
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                status, reply = response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            status, reply = error.code, error.read().decode()
        found: Any = json.loads(reply) if reply.startswith(("{", "[")) else reply
        for name, field in exchange.get("saves", {}).items():
            self.made[name] = str(found[field])
        if "token" in exchange:
            self.tokens[exchange["token"]] = found["token"]
        return status, found

    def _filled(self, text: str) -> str:
        return re.sub(r"<(\w+)>", lambda name: self.made[name[1]], text)


class PipeLine:
    """A connection of a pipe, line by line."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._lines = self._received()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, message: Json) -> None:
        """Send one message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Json:
        """The next message."""
        return next(self._lines)

    def _received(self) -> Iterator[Json]:
        rest = b""
        while data := self._socket.recv(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield json.loads(line)


def missing(kept: Any, now: Any, place: str = "") -> list[str]:
    """What a reply had and has no more: fields, and values of another kind. What is new is no matter."""
    if isinstance(kept, dict) and isinstance(now, dict):
        gone = [f"{place}.{name}" for name in kept.keys() - now.keys()]
        shared = kept.keys() & now.keys()
        return gone + [each for name in shared for each in missing(kept[name], now[name], f"{place}.{name}")]
    if isinstance(kept, list) and isinstance(now, list):
        pairs = zip(kept, now, strict=False)
        return [each for one, other in pairs for each in missing(one, other, f"{place}[]")]
    alike = kept is None or now is None or isinstance(now, type(kept)) or isinstance(kept, type(now))
    return [] if alike else [f"{place}: {type(kept).__name__} became {type(now).__name__}"]
