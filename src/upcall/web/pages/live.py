"""The inbox kept up to date: each change of an inquiry as its card, over server-sent events.

A page says up to which event it is rendered; what comes after is sent, so that nothing is missed in between. Of
several changes of one inquiry only the latest is.
"""

import asyncio
from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from upcall.domain.display import one_line
from upcall.domain.errors import Unauthenticated, UnknownInquiry
from upcall.domain.inquiry import Inquiry
from upcall.ports import Event
from upcall.web.pages.locales import sentences
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit
from upcall.web.stream import LATEST, Presence, is_behind

RECONNECT_MS = 1000


class Live:
    """The handlers of `/inbox/stream` and `/inbox/here`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._store = site.broker.store

    async def here(self, visit: Visit) -> Response:
        """That the session is good: a stream that fails cannot say why it did."""
        return Response(status_code=204)

    async def stream(self, visit: Visit) -> Response:
        """Cards, from the event that the page was rendered at."""
        latest = await self._store.last_seq()
        sent = visit.header(b"last-event-id") or visit.query("after")
        known = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else LATEST
        return _Cards(self, visit, min(known, latest))

    async def follow(self, visit: Visit, after: int, receive: Receive, send: Send) -> None:
        """Write cards until somebody leaves."""
        broker, beat = self._site.broker, self._site.settings.heartbeat
        loop = asyncio.get_running_loop()
        await _write(send, f"retry: {RECONNECT_MS}\n\n")
        due = loop.time() + beat
        async with Presence(receive, broker.closing) as presence:
            while not broker.closing.is_set():
                left = max(due - loop.time(), 0)
                found = await presence.during(self._store.events(after, wait=left))
                if found is None or not self._is_known(visit):
                    break
                text = await self.frames(visit, found)
                if is_behind(after, found):
                    # What is missing cannot be drawn any more: the page is asked for anew.
                    text = frame("reset", "pruned", found[0].seq - 1) + text
                after = found[-1].seq if found else after
                if text or loop.time() >= due:
                    await _write(send, text or ": still here\n\n")
                    due = loop.time() + beat

    async def frames(self, visit: Visit, events: Sequence[Event]) -> str:
        """What these events change in the page."""
        last = {event.inquiry: event for event in events if event.inquiry is not None}
        frames = [await self._frame(visit, event) for event in last.values()]
        if frames:
            frames.append(frame("count", str(await self._store.count_open())))
        return "".join(frames)

    async def _frame(self, visit: Visit, event: Event) -> str:
        inquiry = event.subject or await self._inquiry(event)
        if inquiry is None or inquiry.is_queued:
            return ""
        view = visit.query("view") if visit.query("view") in {"one", "thread"} else "inbox"
        html = await self._site.card(visit, inquiry, view=view, change=_change(visit, event))
        return frame(event.type, html, event.seq)

    async def _inquiry(self, event: Event) -> Inquiry | None:
        try:
            return await self._store.get(event.inquiry or "")
        except UnknownInquiry:
            return None

    def _is_known(self, visit: Visit) -> bool:
        try:
            self._site.access.session(visit.secret)
        except Unauthenticated:
            return False
        return True


class _Cards(Response):
    """A response that goes on until it is over."""

    def __init__(self, live: Live, visit: Visit, after: int) -> None:
        super().__init__(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._live = live
        self._visit = visit
        self._after = after

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._live.follow(self._visit, self._after, receive, send)
        await send({"type": "http.response.body", "body": b""})


def _change(visit: Visit, event: Event) -> str:
    name = f"change.{event.type}"
    known = sentences(visit.words.language)
    return visit.words.say(name, who=one_line(str(event.data.get("by", "")), 60)) if name in known else ""


def frame(kind: str, text: str, seq: int | None = None) -> str:
    """One event of a stream."""
    number = "" if seq is None else f"id: {seq}\n"
    # Only these three end a line here, and a card has no need of the last two.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"{number}event: {kind}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode("utf-8", "replace"), "more_body": True})
