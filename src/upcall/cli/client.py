"""How a command talks to the daemon: it finds or starts the daemon, sends the right token and reads the replies.

Commands that ask send the ask-only token of the runtime file, commands of people the owner's token. With `UPCALL_URL`
both send `UPCALL_TOKEN`, and no daemon is started.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from upcall.cli.failures import CommandFailed, DaemonRefused, Unreachable
from upcall.cli.wire import Reply, Wire
from upcall.home.files import Home, default_home

ASKER = "asker"
PERSON = "person"

REPLY_SECONDS = 60.0
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to reach a daemon that is stopping or starting."""

LATEST = 2**62
"""Higher than the number of any event."""

PAGE = 200
"""The most items of one page."""


class Client:
    """A connection to the daemon in one role."""

    def __init__(self, role: str = PERSON, home: Home | None = None) -> None:
        self.role = role
        self.home = home or default_home()
        self.remote = os.environ.get("UPCALL_URL", "").strip()
        self._wire: Wire | None = None
        self._token = ""
        self._since = time.time()

    def get(self, path: str, *, patience: float = 0.0, **query: object) -> Any:
        """Send a GET request; `patience` is how many seconds the daemon may hold its reply back."""
        return self.call("GET", with_query(path, **query), wait=patience)

    def get_each(self, *paths: str) -> list[Any]:
        """Send several GET requests without waiting in between. The first one that is refused raises its refusal."""
        if self.remote:
            # A proxy on the way may take one request at a time only.
            return [self.get(path) for path in paths]
        replies: list[Any] = self._persistently(lambda: self._replies(paths))
        return replies

    def every(self, path: str, state: str | None = None) -> list[dict[str, Any]]:
        """All items of a list, page by page."""
        items: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self.get(path, state=state, limit=PAGE, cursor=cursor)
            items += page["items"]
            cursor = page["next"]
            if not cursor:
                return items

    def latest_event(self) -> int:
        """The number of the latest event; every later event has a higher one."""
        after: int = self.get("/v1/events", after=LATEST, limit=1)["next_after"]
        return after

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a POST request."""
        return self.call("POST", path, body)

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """Send a PUT request."""
        return self.call("PUT", path, body)

    def delete(self, path: str) -> Any:
        """Send a DELETE request."""
        return self.call("DELETE", path)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, *, wait: float = 0.0) -> Any:
        """Send a request; if the daemon has moved or died, find it again and repeat the request.

        Raises:
            DaemonRefused: if the daemon refuses the request.
            Unreachable: if no daemon is found.
        """
        return self._persistently(lambda: self._once(method, path, body, wait))

    def _persistently(self, attempt: Callable[[], Any]) -> Any:
        for pause in PAUSES:
            try:
                return attempt()
            except Unreachable:
                self.hang_up()
                if self.remote or self.put_down():
                    raise
                from upcall.home.instance import forget_dead

                forget_dead(self.home)
            time.sleep(pause)
        return attempt()

    def hang_up(self) -> None:
        """Close the connection; the next request finds the daemon again."""
        if self._wire is not None:
            self._wire.close()
        self._wire = None

    def put_down(self) -> bool:
        """Whether `upcall down` was run since this command began."""
        return not self.remote and self.home.was_put_down_since(self._since)

    def _once(self, method: str, path: str, body: dict[str, Any] | None, patience: float) -> Any:
        wire = self._wire or self._connect()
        reply = wire.request(
            method,
            path,
            {"Authorization": f"Bearer {self._token}"},
            b"" if body is None else json.dumps(body).encode(),
            timeout=REPLY_SECONDS + patience,
        )
        return _document(reply, wire.url)

    def _replies(self, paths: Sequence[str]) -> list[Any]:
        wire = self._wire or self._connect()
        replies = wire.get_each(paths, {"Authorization": f"Bearer {self._token}"}, timeout=REPLY_SECONDS)
        return [_document(reply, wire.url) for reply in replies]

    def _connect(self) -> Wire:
        if self.remote:
            self._token = os.environ.get("UPCALL_TOKEN", "").strip()
            if not self._token:
                raise CommandFailed("UPCALL_URL is set and UPCALL_TOKEN is not", hint="set both")
            self._wire = Wire(self.remote)
            return self._wire
        running = self.home.running()
        if running is None:
            if self.put_down():
                raise Unreachable("Upcall is down", hint="`upcall up` starts it again")
            from upcall.home.launch import ensure_running

            running = ensure_running(self.home)
        self._token = self._local_token(running.token)
        self._wire = Wire(running.url)
        return self._wire

    def _local_token(self, ask_only: str) -> str:
        given = os.environ.get("UPCALL_TOKEN", "").strip()
        if self.role == ASKER:
            return given or ask_only
        try:
            return self.home.read_secret(self.home.owner_token_file)
        except OSError:
            if given:
                return given
            raise CommandFailed(
                f"there is no owner's token in {self.home.path}",
                hint="set UPCALL_TOKEN to a person's token, or make a token with `upcall up --replace`",
            ) from None


def inquiry_path(name: str, *rest: str) -> str:
    """The path of an inquiry, or of an action on it."""
    return "/".join(("/v1/inquiries", quote(name, safe=""), *rest))


def run_path(number: int | str, *rest: str) -> str:
    """The path of a run, or of an action on it."""
    return "/".join(("/v1/runs", str(number), *rest))


def with_query(path: str, **query: object) -> str:
    """A path with what is asked of it; a value of None is left out."""
    asked = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(asked)}" if asked else path


def _document(reply: Reply, url: str) -> Any:
    status, content = reply
    try:
        document = json.loads(content) if content else None
    except ValueError:
        raise Unreachable(
            f"the server at {url} is not Upcall (status {status})", hint="check UPCALL_URL"
        ) from None
    if status >= 400:
        raise _refused(status, document)
    return document


def _refused(status: int, document: Any) -> DaemonRefused:
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return DaemonRefused(f"the daemon replied with status {status}", status=status)
    return DaemonRefused(
        str(error.get("message") or f"status {status}"),
        hint=error.get("hint"),
        reply=str(error.get("code") or ""),
        status=status,
    )
