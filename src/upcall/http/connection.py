"""One HTTP connection on uvicorn, with what uvicorn lacks: limits of the size of the head and of time, replies in one write.

Fields of a trailer are dropped: permissions were decided by the head.
"""

import asyncio
from functools import partial
from typing import Any, cast

from starlette.types import Scope
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from upcall.http.errors import error_body
from upcall.http.gate import KNOWN, Gate
from upcall.http.whole_reply import WHOLE, written

LARGEST_HEAD = 64 * 1024
"""Bytes of a request's address and headers together."""

SLICE = 64 * 1024
HEAD_WITHIN = 30.0
BODY_WITHIN = 120.0
LAST_WORDS_WITHIN = 5.0

_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


class HttpConnection(HttpToolsProtocol):
    """A connection that is closed when it makes no progress."""

    def __init__(self, gate: Gate, **given: Any) -> None:
        super().__init__(**given)
        self._gate = gate
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._in_body = False
        self._head = self._silent = 0
        self._moved = False

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        # Before the first request there is none, although its type says otherwise.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    @property
    def is_known(self) -> bool:
        """Whether the request under way has shown valid credentials."""
        return not self.is_idle and bool(self.cycle.scope.get(KNOWN))

    def give_way(self) -> None:
        """Close at once: there are too many connections."""
        self.transport.abort()

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        if self._gate.enter(self):
            self._expect(HEAD_WITHIN)
        else:
            self._refuse(503, "rate_limited", "there are too many connections", "try again later")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._gate.leave(self)
        self._stop_timer()
        super().connection_lost(exc)
        # Connection and request would keep each other until a collection, long after a crowd of them has left.
        self.cycle = cast("RequestResponseCycle", None)

    @override
    def data_received(self, data: bytes) -> None:
        if self._in_head and self._timer is None:
            self._expect(HEAD_WITHIN)
        for start in range(0, len(data), SLICE):
            if self.transport.is_closing() or self.parser is None:
                return
            piece = data if len(data) <= SLICE else data[start : start + SLICE]
            self._moved = False
            super().data_received(piece)
            self._silent = 0 if self._moved else self._silent + len(piece)
            if max(self._silent, self._head) > LARGEST_HEAD:
                self._gate.tell(f"a request was refused: its head has more than {LARGEST_HEAD} bytes")
                limit = f"the address and headers have more than {LARGEST_HEAD} bytes"
                self._refuse(431, "too_large", limit, "send less")
                return

    @override
    def on_message_begin(self) -> None:
        self._moved, self._in_head, self._head = True, True, 0
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._moved = True
        self._head += len(url)
        super().on_url(url)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        self._moved = True
        self._head += len(name) + len(value) + 4
        if self._in_head:
            super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        self._moved, self._in_head, self._in_body = True, False, True
        self._expect(BODY_WITHIN)
        super().on_headers_complete()
        cast("Scope", self.cycle.scope)[WHOLE] = partial(self._send_whole, self.cycle)

    @override
    def on_body(self, body: bytes) -> None:
        self._moved = True
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._moved, self._in_head, self._in_body = True, True, False
        self._stop_timer()
        super().on_message_complete()

    def _send_whole(self, cycle: RequestResponseCycle, status: int, body: bytes) -> bool:
        """Write a JSON reply at once, where nothing about it is out of the ordinary."""
        if (
            cycle.response_started
            or cycle.disconnected
            or not cycle.keep_alive
            or self.flow.write_paused
            or cycle.scope["method"] == "HEAD"
        ):
            return False
        cycle.response_started = cycle.response_complete = True
        self.transport.write(written(status, body, tuple(self.server_state.default_headers)))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def _expect(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._in_body:
            self._gate.tell(
                f"a connection was closed: its request did not come whole within {BODY_WITHIN:g} s"
            )
            self.transport.abort()
            return
        self._gate.tell(f"a connection was closed: no whole request head within {HEAD_WITHIN:g} s")
        self._refuse(
            408, "invalid_request", f"no whole request head came within {HEAD_WITHIN:g} s", "send it again"
        )

    def _refuse(self, status: int, code: str, message: str, hint: str) -> None:
        """Reply with an error, unless a response is under way, and close."""
        if self.is_idle and not self.transport.is_closing():
            body = error_body(code, message, hint)
            self.transport.write(
                b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
                % (status, _REASONS[status].encode(), len(body), body)
            )
        self.transport.close()
        # A client that has not read the reply by then will not.
        self.loop.call_later(LAST_WORDS_WITHIN, self.transport.abort)
