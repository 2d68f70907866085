"""What takes its time over HTTP: waiting for an answer, the log as a long poll, and the log as a stream of events.

Each ends at once when its client goes, when its token is revoked and when the broker closes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.domain.document import Document, timestamp
from upcall.domain.errors import DamagedRow, InvalidRequest, Unauthenticated, UnknownInquiry
from upcall.domain.inquiry.lifecycle import HELD, UNDONE
from upcall.domain.roles import Caller
from upcall.http.bearer import token_of
from upcall.http.body import Json, encode
from upcall.ports.store import Event
from upcall.web import fields
from upcall.web.api.documents import Documents
from upcall.web.call import Call
from upcall.web.settings import WebSettings

T = TypeVar("T")

WAIT, LONGEST_WAIT = 30.0, 3600.0
LONGEST_POLL = 300.0
PAGE, LARGEST_PAGE = 200, 1000
LATEST = 2**62
OWNERS_REMEMBERED = 4096
_RESET = b"id: %d\nevent: reset\ndata: {}\n\n"
MOMENTS = ("until", "expires_at")
"""What the log's data keeps as seconds; outside every moment is ISO 8601."""


_Owner = tuple[object, object]
_NONE: _Owner = (None, None)


class Presence:
    """Whether the other side is still there. As a context it listens for the client to hang up.

    Work inside it runs in the request's own task, which is cancelled when the client hangs up or the broker closes.
    """

    def __init__(self, receive: Receive, closing: asyncio.Event | None = None) -> None:
        self._receive = receive
        self._closing = closing
        self._watchers: list[asyncio.Task[None]] = []
        self._waiting: asyncio.Task[object] | None = None
        self._over = False
        self._broken: Exception | None = None
        self.gone = False

    async def __aenter__(self) -> Self:
        self._watchers.append(asyncio.create_task(self._hang_up()))
        if self._closing is not None:
            self._watchers.append(asyncio.create_task(self._close(self._closing)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for watcher in self._watchers:
            watcher.cancel()

    async def during(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What `work` comes to, or None when it is over before.

        Raises:
            ClientDisconnect: if the client has hung up.
        """
        if self._over:
            work.close()
            self._end()
            return None
        self._waiting = asyncio.current_task()
        try:
            return await work
        except asyncio.CancelledError:
            if not self._over or self._waiting is None or self._waiting.uncancel():
                raise
            self._end()
            return None
        finally:
            self._waiting = None

    def _end(self) -> None:
        # The error that broke the connection is raised like any other.
        if self._broken is not None:
            raise self._broken
        if self.gone:
            raise ClientDisconnect

    def _interrupt(self) -> None:
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def _hang_up(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
            self.gone = True
        except Exception as error:  # noqa: BLE001 - handed to the task that waits
            self._broken = error
        self._interrupt()

    async def _close(self, closing: asyncio.Event) -> None:
        await closing.wait()
        self._interrupt()


class EventHandlers:
    """The handlers that wait."""

    def __init__(self, broker: Broker, access: Access, settings: WebSettings, documents: Documents) -> None:
        self._broker = broker
        self._access = access
        self._settings = settings
        self._documents = documents
        self._owners: OrderedDict[str, _Owner] = OrderedDict()

    async def wait(self, call: Call) -> Response:
        """Wait until it is settled; the inquiry in its state then, at the latest after `timeout`."""
        sent = call.query()
        timeout = fields.bounded_seconds(sent, "timeout", default=WAIT, most=LONGEST_WAIT)
        inquiry = await self._broker.get(call.name, call.caller)
        if inquiry.is_open and timeout:
            async with Presence(call.receive) as presence:
                inquiry = await presence.during(self._broker.wait(inquiry, timeout)) or inquiry
            # An hour later the token may not be good any more.
            self._access.identify(token_of(call.scope))
        return await self._documents.one(inquiry)

    async def events(self, call: Call) -> Response:
        """Read the log; with `wait`, not before there is something to tell."""
        sent = call.query()
        after = fields.integer(sent, "after", default=0, least=0, most=LATEST)
        wait = fields.bounded_seconds(sent, "wait", default=0, most=LONGEST_POLL)
        limit = fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
        after = min(after, await self._broker.store.last_seq(after))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        items: list[Document] = []
        reset = False
        async with Presence(call.receive, self._broker.closing) as presence:
            while not items:
                left = max(deadline - loop.time(), 0)
                found = await presence.during(self._broker.store.events(after, wait=left, limit=limit))
                if not found:
                    break
                self._access.identify(token_of(call.scope))
                reset = reset or is_behind(after, found)
                items = [_document(event) for event in await self._visible(found, call.caller)]
                after = found[-1].seq
        return Json({"items": items, "next_after": after, **({"reset": True} if reset else {})})

    async def stream(self, call: Call) -> ASGIApp:
        """Follow the log, from `Last-Event-ID`, from `after`, or from now on."""
        return EventStream(self, call.caller, await self.begin(call), self._frames)

    async def begin(self, call: Call) -> int:
        """The number that a stream goes on from."""
        sent = dict(call.query())
        resumed = call.header(b"last-event-id")
        if resumed is not None:
            sent["after"] = resumed
        latest = await self._broker.store.last_seq()
        try:
            after = fields.integer(sent, "after", default=latest, least=0, most=LATEST)
        except InvalidRequest as error:
            name = "after" if resumed is None else "Last-Event-ID"
            raise InvalidRequest(
                error.message.replace("after", name, 1), hint="send the `id` of an event"
            ) from None
        # A number from before a restore may be ahead of the log: the stream goes on at the log's end.
        return after if after <= latest else min(after, await self._broker.store.last_seq(after))

    async def _frames(self, events: Sequence[Event], caller: Caller) -> bytes:
        return b"".join([_frame(event) for event in await self._visible(events, caller)])

    async def follow(self, stream: "EventStream", scope: Scope, receive: Receive, send: Send) -> None:
        """Write a stream until the client hangs up, its token is revoked, or the broker closes."""
        loop = asyncio.get_running_loop()
        beat = self._settings.heartbeat
        after = stream.after
        await _write(send, b": upcall\n\n")
        due = loop.time() + beat
        async with Presence(receive, self._broker.closing) as presence:
            while not self._broker.closing.is_set():
                left = max(due - loop.time(), 0)
                found = await presence.during(self._broker.store.events(after, wait=left))
                if found is None or not self._is_known(scope):
                    break
                text = await stream.frames(found, stream.caller)
                if is_behind(after, found):
                    text = _RESET % (found[0].seq - 1) + text
                after = found[-1].seq if found else after
                if text or loop.time() >= due:
                    await _write(send, text or b": still here\n\n")
                    due = loop.time() + beat

    def _is_known(self, scope: Scope) -> bool:
        try:
            self._access.identify(token_of(scope))
        except Unauthenticated:
            return False
        return True

    async def _visible(self, events: Sequence[Event], caller: Caller) -> Sequence[Event]:
        """People see the whole log; an agent only what concerns its own inquiries and is settled."""
        if not caller.is_agent:
            return events
        return [
            event
            for event in events
            if event.type not in {HELD, UNDONE} and await self._concerns(event, caller)
        ]

    async def _concerns(self, event: Event, caller: Caller) -> bool:
        agent, run = await self._owner(event)
        # What names no run is about the agent: an item of a thread that all its runs share.
        return agent == caller.name and (caller.run in {None, run} or (event.inquiry is None and run is None))

    async def _owner(self, event: Event) -> "_Owner":
        """The agent that an event is about, and its run."""
        if event.subject is not None:
            return event.subject.origin.agent, event.subject.origin.run
        if event.inquiry is None:
            return event.data.get("agent"), event.data.get("run")
        # An event read from disk names no agent; an inquiry's agent never changes.
        if event.inquiry not in self._owners:
            try:
                origin = (await self._broker.store.get(event.inquiry)).origin
                self._owners[event.inquiry] = origin.agent, origin.run
            except UnknownInquiry:
                self._owners[event.inquiry] = _NONE
            except DamagedRow:
                # It cannot be said whom it concerns, so it is told to people alone.
                self._owners[event.inquiry] = _NONE
            if len(self._owners) > OWNERS_REMEMBERED:
                self._owners.popitem(last=False)
        return self._owners.get(event.inquiry, _NONE)


def is_behind(after: int, found: Sequence[Event]) -> bool:
    """Whether a reader has missed something for good: what followed for it has been pruned."""
    return bool(found) and found[0].seq > after + 1


Frames = Callable[[Sequence[Event], Caller], Awaitable[bytes]]
"""Writes the frames that a caller gets for some events."""


class EventStream:
    """A response that goes on until it is over."""

    def __init__(self, live: EventHandlers, caller: Caller, after: int, frames: Frames) -> None:
        self._live = live
        self.caller = caller
        self.after = after
        self.frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write it."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._live.follow(self, scope, receive, send)
        await send({"type": "http.response.body", "body": b""})


async def _write(send: Send, text: bytes) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": True})


def _document(event: Event) -> Document:
    data = dict(event.data)
    for name in MOMENTS:
        at = data.get(name)
        if isinstance(at, int | float):
            data[name] = timestamp(at)
    return {
        "seq": event.seq,
        "type": event.type,
        "inquiry": event.inquiry,
        "at": timestamp(event.at),
        "data": data,
    }


def _frame(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.type.encode(), encode(_document(event)))
