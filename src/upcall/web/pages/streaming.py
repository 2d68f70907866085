"""Pages kept up to date: HTML over server-sent events, until the browser leaves, its session ends, or the daemon stops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from upcall.ports.store import Event, Store
from upcall.web.api.stream import LATEST, Presence, is_behind
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit

RECONNECT_MS = 1000
SHOWN = {"shown", "undelivered"}
"""What is told about an inquiry without its having changed."""

Frames = Callable[[Sequence[Event]], AsyncIterator[str]]
"""What a page is sent for some events, each part as soon as it is drawn; called without any, it looks for other news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePage:
    """A page that follows the log: from where on, how events are drawn, and how often at least it looks."""

    visit: Visit
    after: int
    frames: Frames
    look_every: float | None = None


async def known_to(visit: Visit, store: Store) -> int:
    """The last event that a page has seen, if need be at another daemon, or the end of the log."""
    sent = visit.header(b"last-event-id") or visit.query("after")
    known = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else LATEST
    return min(known, await store.last_seq(known))


class Streamed(Response):
    """A response that goes on until it is over."""

    def __init__(self, site: Site, page: LivePage) -> None:
        super().__init__(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._site = site
        self._page = page

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._follow(receive, send)
        await send({"type": "http.response.body", "body": b""})

    async def _follow(self, receive: Receive, send: Send) -> None:
        page, broker = self._page, self._site.broker
        beat, after = self._site.settings.heartbeat, page.after
        loop = asyncio.get_running_loop()
        await _write(send, f"retry: {RECONNECT_MS}\n\n")
        due, counted = loop.time() + beat, -1
        async with Presence(receive, broker.closing) as presence:
            while not broker.closing.is_set():
                left = max(due - loop.time(), 0)
                if page.look_every is not None:
                    left = min(left, page.look_every)
                found = await presence.during(broker.store.events(after, wait=left))
                if found is None or not self._site.is_signed_in(page.visit):
                    break
                if is_behind(after, found):
                    # What is missing cannot be drawn any more: the page is asked for anew.
                    await _write(send, frame("reset", "pruned", found[0].seq - 1))
                async for text in page.frames(found):
                    await _write(send, text)
                    due = loop.time() + beat
                after = found[-1].seq if found else after
                is_due = loop.time() >= due
                if is_due:
                    await _write(send, ": still here\n\n")
                    due = loop.time() + beat
                # After what is new, which need not wait until everything is counted. A snooze ends without an event.
                if is_due or any(event.inquiry is not None and event.type not in SHOWN for event in found):
                    counted, before = await broker.count_waiting(), counted
                    if counted != before:
                        await _write(send, frame("count", str(counted)))


def frame(kind: str, text: str, seq: int | None = None) -> str:
    """One message of a stream."""
    number = "" if seq is None else f"id: {seq}\n"
    # Only these three end a line here, and a card has no need of the last two.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"{number}event: {kind}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode("utf-8", "replace"), "more_body": True})
