"""A program at the other end of a webhook channel: it writes down what it is shown, and can be out of order for a while."""

import json
import time
from collections import defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from typing_extensions import override

SECRET = "a secret that only this machine knows"
PLACE = "hook:ops"


class Receiver:
    """What people would see. A message that comes again has the same name, and is the same message."""

    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = defaultdict(list)
        """The names under which each inquiry was shown, as often as that was done."""
        self.states: dict[str, str] = {}
        """The state of each inquiry that its message shows."""
        self._is_silent = False
        self._lock, self._silencing = Lock(), Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.2,), daemon=True).start()

    @property
    def settings(self) -> str:
        """The channel to it."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        return f"""
[channels.hook]
kind = "webhook"
url = "{url}"
secret = "{SECRET}"

[[routes]]
to = ["{PLACE}"]
"""

    def take(self, name: str, document: dict[str, Any]) -> bool:
        """Take what is sent; False if the sender is not to learn of it."""
        kind, data = document["type"], document["data"]
        with self._lock:
            if kind == "inquiry.shown":
                self.shown[data["inquiry"]].append(name)
                self.states.setdefault(data["inquiry"], data["state"])
            elif kind == "inquiry.updated":
                self.states[data["inquiry"]] = data["state"]
        return not self._is_silent

    def silence(self, seconds: float) -> None:
        """Take everything for a while, and hang up without a word."""
        with self._silencing:
            self._is_silent = True
            time.sleep(seconds)
            self._is_silent = False

    def end(self) -> None:
        """Close."""
        self._server.shutdown()
        self._server.server_close()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body at once: without this each reply waits for the acknowledgement of its head.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            if len(body) == length and receiver.take(self.headers["webhook-id"], json.loads(body)):
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()
            else:
                self.close_connection = True

        @override
        def handle(self) -> None:
            # A daemon that is killed hangs up in the middle of a word.
            with suppress(ConnectionError):
                super().handle()

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
