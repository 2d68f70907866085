"""The newest part of the log in memory, and the readers that wait for more of it.

It lives on the event loop alone and is told of events only once they are durable. It knows no database: a reader
who wants what is older than the tail is told so.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.store import Event

Read = Callable[[int, int], Awaitable[Sequence[Event]]]
"""Fetches events after a number, at most so many, from where all of them are kept."""

MAX_EVENTS = 4096
MAX_WEIGHT = 16 * 1024 * 1024
EVENT_WEIGHT = 2000
"""About what an event and its inquiry take in memory besides their text."""


class Logged(NamedTuple):
    """An event, its data as they are kept, and about how many bytes it takes in memory."""

    event: Event
    data: str
    weight: int


class Tail:
    """The last events, bounded in number and weight. Those after `floor` are all here."""

    def __init__(self, last: int, *, max_events: int = MAX_EVENTS, max_weight: int = MAX_WEIGHT) -> None:
        self.last = last
        self.floor = last
        self._max_events = max_events
        self._max_weight = max_weight
        self._entries: list[Logged] = []
        self._seqs: list[int] = []
        """The numbers of `_entries`: finding one among plain numbers takes no call for each step."""
        self._start = 0
        self._weight = 0
        self._subjects: dict[str, Event] = {}
        self._waiting: dict[float, dict[asyncio.Future[None], None]] = {}
        """By how long events gather for them, in the order in which they came."""
        self._gathering: set[float] = set()
        """Those for which a timer runs."""
        self._closed = False

    def __len__(self) -> int:
        return len(self._entries) - self._start

    @property
    def weight(self) -> int:
        """About how many bytes the kept events hold."""
        return self._weight

    def publish(self, logged: Sequence[Logged]) -> None:
        """Take in events that are now durable, and wake every waiting reader."""
        if not logged:
            return
        for event, _, weight in logged:
            self._weight += weight
            if event.subject is not None:
                self._subjects[event.subject.id] = event
        self._entries.extend(logged)
        self._seqs.extend(entry.event.seq for entry in logged)
        self.last = logged[-1].event.seq
        while len(self) > self._max_events or self._weight > self._max_weight:
            self._drop_oldest()
        if self._start > self._max_events:
            del self._entries[: self._start]
            del self._seqs[: self._start]
            self._start = 0
        for gather, waiting in self._waiting.items():
            if not gather:
                self._wake(0)
            elif waiting and gather not in self._gathering:
                # One timer for all of them, and no turn of theirs before that of a reader who is woken now.
                self._gathering.add(gather)
                asyncio.get_running_loop().call_later(gather, self._wake, gather)

    def since(self, after: int, limit: int) -> list[Event] | None:
        """The events after that number; None when the tail does not reach back so far."""
        if after < self.floor:
            return None
        if after >= self.last:
            return []
        start = bisect_right(self._seqs, after, lo=self._start)
        return [entry.event for entry in self._entries[start : start + limit]]

    def subject(self, name: str) -> Inquiry | None:
        """The inquiry with this id as it is now, if its latest event is among those kept."""
        event = self._subjects.get(name)
        return None if event is None else event.subject

    def forget(self, names: Iterable[str]) -> None:
        """Drop these inquiries: they are deleted."""
        for name in names:
            self._subjects.pop(name, None)

    async def grown(self, after: int, seconds: float, gather: float = 0) -> bool:
        """Wait until there is an event after that number, and `gather` seconds more; False when the time is up or the store closes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self.last <= after:
            left = deadline - loop.time()
            if self._closed or left <= 0:
                return False
            woken: asyncio.Future[None] = loop.create_future()
            timer = loop.call_later(left, _settle, woken)
            waiting = self._waiting.setdefault(gather, {})
            waiting[woken] = None
            try:
                await woken
            finally:
                timer.cancel()
                waiting.pop(woken, None)
        return True

    async def read_on(
        self, after: int, wait: float, limit: int, read: Read, gather: float = 0
    ) -> Sequence[Event]:
        """What `Store.events` returns; `read` fetches from the database what is older than the tail."""
        deadline = asyncio.get_running_loop().time() + wait
        while True:
            floor = self.floor
            found: Sequence[Event] | None = self.since(after, limit)
            if found is None:
                found = await read(after, limit)
                after = after if found else floor
            if found or limit < 1:
                return found
            left = deadline - asyncio.get_running_loop().time()
            if not await self.grown(after, left, gather):
                return self.since(after, limit) or []

    def close(self) -> None:
        """Release every waiting reader; later ones do not wait."""
        self._closed = True
        for gather in self._waiting:
            self._wake(gather)

    def _drop_oldest(self) -> None:
        event, _, weight = self._entries[self._start]
        self._entries[self._start] = _DROPPED
        self._start += 1
        self._weight -= weight
        self.floor = event.seq
        if event.inquiry is not None and self._subjects.get(event.inquiry) is event:
            del self._subjects[event.inquiry]

    def _wake(self, gather: float) -> None:
        self._gathering.discard(gather)
        waiting, self._waiting[gather] = self._waiting[gather], {}
        for woken in waiting:
            _settle(woken)


def _settle(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


_DROPPED = Logged(Event(seq=0, type="", inquiry=None, at=0, data={}), "", 0)
