"""The way from a pipe to a daemon on another machine: one HTTP request for each message, sent again if it breaks."""

import json
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from upcall.doors.pipe.agent_side import Message, Pipe, Request, dumped, introduction, refused
from upcall.home.files import ACKNOWLEDGING

SILENCE = 60.0
"""Seconds without a sign of life after which a connection is given up; the daemon sends one every 15."""

GIVE_UP_AFTER = 30.0
"""Seconds of trying to reach a daemon that never answered. One that did is waited for as long as the agent waits."""

REPLIED_WITHIN = 15.0
"""Seconds after which a connection is given up on which a daemon has only to say that it has heard."""

SHORTEST_NAP, LONGEST_NAP = 0.2, 10.0


class RefusedError(Exception):
    """The daemon, or something in front of it, does not want this request; trying again would not help."""


class RemotePipe:
    """Reaches a daemon by its address."""

    def __init__(self, pipe: Pipe, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._pipe = pipe
        self._url = url
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port
        self._path = f"{parts.path.rstrip('/')}/v1/pipe"
        self._token = token
        self._under_way: dict[str, HTTPConnection] = {}
        self._is_heard = False
        """Whether the daemon at the other end knows what an acknowledgement is."""
        self._untold: dict[str, None] = {}
        """Inquiries of which the agent has the answer, and the daemon has not said yet that it has heard so."""
        self._telling: threading.Thread | None = None

    def run(self) -> None:
        """There is no connection to keep: each request has its own."""

    def request(self, name: str, request: Request) -> None:
        """Remember it and see to it in a thread of its own."""
        with self._pipe.changed:
            self._pipe.outstanding[name] = request
        threading.Thread(target=self._see_to, args=(name, request), daemon=True).start()

    def notify(self, line: bytes) -> None:
        """A request that was taken back is hung up on; nothing else concerns the daemon."""
        with self._pipe.changed:
            stale = [
                connection
                for name, connection in self._under_way.items()
                if name not in self._pipe.outstanding
            ]
        for connection in stale:
            with suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def acknowledge(self, inquiry: str) -> None:
        """Say that the agent has an answer: by itself as often as it takes, and with each request until then."""
        if not self._is_heard:
            return
        with self._pipe.changed:
            self._untold[inquiry] = None
            if self._telling is None:
                self._telling = threading.Thread(target=self._tell, daemon=True)
                self._telling.start()
            self._pipe.changed.notify_all()

    def finish(self, within: float) -> None:
        """Wait until the daemon has heard of every answer that the agent has."""
        with self._pipe.changed:
            self._pipe.changed.wait_for(lambda: not self._untold, within)

    def respond(self, name: str, line: bytes) -> None:
        """Pass on what a person has answered, in a thread of its own: the agent speaks on meanwhile."""
        threading.Thread(target=self._insist, args=(line,), daemon=True).start()

    def _tell(self) -> None:
        while True:
            with self._pipe.changed:
                self._pipe.changed.wait_for(lambda: self._untold)
                inquiry = next(iter(self._untold))
            self._insist(dumped({"upcall": "taken", "id": inquiry}))
            with self._pipe.changed:
                del self._untold[inquiry]
                self._pipe.changed.notify_all()

    def _insist(self, line: bytes) -> None:
        """Say something until the daemon has heard it. Without an acknowledgement an answer counts as lost on its way."""
        nap = SHORTEST_NAP
        while True:
            try:
                self._say(line)
            except RefusedError:
                return
            except (OSError, HTTPException, ValueError):
                time.sleep(nap)
                nap = min(nap * 2, LONGEST_NAP)
            else:
                return

    def _see_to(self, name: str, request: Request) -> None:
        nap, began = SHORTEST_NAP, time.monotonic()
        while self._pipe.outstanding.get(name) is request:
            try:
                self._exchange(name, request)
            except RefusedError as problem:
                self._answer(name, request, refused(str(problem)))
            except (OSError, HTTPException, ValueError) as problem:
                if not request.sent and time.monotonic() - began > GIVE_UP_AFTER:
                    self._answer(
                        name, request, refused(f"Upcall at {self._url} cannot be reached: {problem}")
                    )
            with self._pipe.changed:
                self._under_way.pop(name, None)
                if self._pipe.outstanding.get(name) is request:
                    self._pipe.changed.wait(nap)
            nap = min(nap * 2, LONGEST_NAP)

    def _exchange(self, name: str, request: Request) -> None:
        connection = self._connection()
        with self._pipe.changed:
            self._under_way[name] = connection
        try:
            response = self._posted(connection, request.line)
            while line := response.readline():
                if line.startswith(b'{"upcall":'):
                    self._told(json.loads(line), request)
                elif line.strip():
                    self._pipe.replied(line)
        finally:
            connection.close()

    def _say(self, line: bytes) -> None:
        connection = self._connection(REPLIED_WITHIN)
        try:
            self._posted(connection, line).read()
        finally:
            connection.close()

    def _connection(self, silence: float = SILENCE) -> HTTPConnection:
        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, self._port, timeout=silence)

    def _posted(self, connection: HTTPConnection, line: bytes) -> HTTPResponse:
        with self._pipe.changed:
            # Its next request can arrive before an acknowledgement that is being repeated, and this pipe may not live to repeat it.
            taken = list(self._untold)
        told = {
            "initialized": self._pipe.handshake is not None,
            "handshake": self._pipe.met,
            "taken": taken,
        }
        hello = introduction(self._pipe) | told
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/x-ndjson"}
        connection.request("POST", self._path, dumped(hello) + line, headers)
        response = connection.getresponse()
        if response.status != 200:
            _complain(self._url, response.status, response.read(10_000))
        return response

    def _told(self, message: Message, request: Request) -> None:
        match message["upcall"]:
            case "daemon":
                request.sent = True
                protocol = message.get("protocol")
                self._is_heard = isinstance(protocol, int) and protocol >= ACKNOWLEDGING
            case "opened":
                self._pipe.opened(message)
            case _:
                # Said by a newer daemon to newer pipes.
                pass

    def _answer(self, name: str, request: Request, reply: Message) -> None:
        with self._pipe.changed:
            mine = self._pipe.outstanding.pop(name, None) is request
            self._pipe.changed.notify_all()
        if mine:
            self._pipe.write(dumped({"jsonrpc": "2.0", "id": request.id, **reply}))


def _complain(url: str, status: int, body: bytes) -> None:
    """Give up where trying again would not help, and try again where it might."""
    told: object = None
    with suppress(ValueError):
        told = json.loads(body)
    problem = told.get("error") if isinstance(told, dict) else None
    if status >= 500:
        raise HTTPException(f"status {status}")
    if isinstance(problem, dict):
        raise RefusedError(
            f"Upcall at {url} refused this pipe: {problem.get('message')} ({problem.get('hint')})"
        )
    raise RefusedError(f"there is no Upcall that pipes can use at {url}: status {status}")
