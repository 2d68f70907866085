"""A store in memory that several daemons share: each has a handle, and a link that can be slow, refuse, or be cut."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from tests.simulation.database import Database, Kept
from upcall.domain.errors import InvalidRequest, StorageError, UnknownInquiry, UpcallError
from upcall.domain.inquiry import searching
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.records import NOTHING, TAKEN_OVER, Effects, Happening, Job, Record
from upcall.domain.roles import Token
from upcall.ports.store import Added, Decide, Event, Page, Query, Records, Revise, Updated
from upcall.stores.listing import order
from upcall.stores.sqlite.ledger import position
from upcall.stores.tail import Logged, Tail
from upcall.stores.words import caught_up

T = TypeVar("T")


class Link(Protocol):
    """The way from a daemon to its database."""

    async def there(self, method: str, *, writes: bool) -> None:
        """A request is on its way.

        Raises:
            StorageError: if it does not arrive; then nothing is done.
        """
        ...

    async def back(self, method: str) -> None:
        """The reply is on its way."""
        ...


class Direct:
    """A link without a distance."""

    async def there(self, method: str, *, writes: bool) -> None:
        """At once."""

    async def back(self, method: str) -> None:
        """At once."""


class MemoryStore:
    """A `Store`; made with `open`, several on one database."""

    def __init__(self, database: Database, holder: str, link: Link) -> None:
        self.holder = holder
        self._database = database
        self._link = link
        self._tail = Tail(database.last_seq)
        self._closed = False
        self._peers: list[MemoryStore] = []

    @classmethod
    def open(
        cls, database: Database, peers: "list[MemoryStore]", holder: str, link: Link | None = None
    ) -> "MemoryStore":
        """A handle; `peers` are all handles of the database, and this becomes one of them."""
        store = cls(database, holder, link or Direct())
        store._peers = peers
        peers.append(store)
        return store

    def now(self) -> float:
        """See `Ledger.now`."""
        return self._database.clock()

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = (), effects: Effects = NOTHING) -> Added:
        """See `Store.add`."""
        return await self._write("add", lambda: self._database.add(inquiry, blobs, effects))

    async def get(self, name: str) -> Inquiry:
        """See `Store.get`."""
        return (await self._read("get", lambda: self._database.locate(name))).inquiry

    async def requested(self, origin: Origin) -> Inquiry | None:
        """See `Store.requested`."""
        return await self._read("requested", lambda: self._database.requested(origin))

    async def find(self, query: Query) -> Page:
        """See `Store.find`."""
        complete = not query.is_search or await caught_up(self.index_words)
        page = await self._read("find", lambda: _page(self._database, query))
        return Page(items=page.items, next=page.next, complete=complete)

    async def index_words(self, limit: int) -> int:
        """See `Store.index_words`."""
        return await self._write("index_words", lambda: self._database.index_words(limit))

    async def update(self, name: str, decide: Decide) -> Updated:
        """See `Store.update`."""
        return await self._write("update", lambda: self._database.update(name, decide))

    async def update_all(self, names: Sequence[str], decide: Decide) -> Sequence[Updated | UpcallError]:
        """See `Store.update_all`."""
        return await self._write("update_all", lambda: self._database.update_all(names, decide))

    async def record(self, happening: Happening) -> Event:
        """See `Store.record`."""
        return await self._write("record", lambda: self._database.record(happening))

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """See `Store.due`."""
        found = await self._read("due", lambda: [each for each in self._open() if each.due <= now])
        return [kept.inquiry.id for kept in sorted(found, key=lambda kept: kept.due)[:limit]]

    async def next_expiry(self) -> float | None:
        """See `Store.next_expiry`."""
        return await self._read("next_expiry", lambda: min((each.due for each in self._open()), default=None))

    async def attachment(self, name: str, index: int) -> bytes:
        """See `Store.attachment`."""
        kept = await self._read("attachment", lambda: self._database.locate(name))
        content = self._database.blobs.get((kept.inquiry.id, index))
        if content is None:
            raise UnknownInquiry(name)
        return content

    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        """See `Store.events`."""

        async def read(since: int, most: int) -> Sequence[Event]:
            log = await self._read("events", lambda: self._database.log)
            return [entry.event for entry in log if entry.event.seq > since][:most]

        return await self._tail.read_on(after, wait, limit, read, gather)

    async def thread_items(
        self, thread: str, *, after: int = 0, before: int | None = None, limit: int = 200
    ) -> Sequence[Event]:
        """See `Store.thread_items`."""
        items = await self._read("thread_items", lambda: self._database.items(thread))
        if before is not None:
            return [item for item in items if item.seq < before][-limit:]
        return [item for item in items if item.seq > after][:limit]

    async def last_seq(self, least: int = 0) -> int:
        """See `Store.last_seq`."""
        return self._tail.last

    async def count_open(self, awake_at: float | None = None) -> int:
        """See `Store.count_open`."""
        found = await self._read("count_open", self._open)
        return sum(awake_at is None or (_snoozed(each) or 0.0) <= awake_at for each in found)

    async def look_up(self, kind: str, key: str) -> Record | None:
        """See `Ledger.look_up`."""
        return await self._read("look_up", lambda: self._database.records.get((kind, key)))

    async def records(
        self, kind: str, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Records:
        """See `Ledger.records`."""
        if limit < 1:
            raise InvalidRequest(f"limit {limit!r} is not a positive number")
        after = None if cursor is None else position(cursor)
        kept = await self._read("records", lambda: list(self._database.records.values()))
        wanted = [record for record in kept if record.kind == kind and state in {None, record.state}]
        wanted.sort(key=lambda record: (record.at, record.key), reverse=True)
        left = [record for record in wanted if after is None or (record.at, record.key) < after]
        page = left[:limit]
        more = json.dumps([page[-1].at, page[-1].key]) if len(left) > limit else None
        return Records(items=tuple(page), next=more)

    async def revise(self, kind: str, key: str, decide: Revise) -> Record | None:
        """See `Ledger.revise`."""
        return await self._write("revise", lambda: self._database.revise(kind, key, decide))

    async def claim(
        self, kinds: Sequence[str], *, runner: str, now: float, lease: float, limit: int
    ) -> Sequence[Job]:
        """See `Ledger.claim`."""
        return await self._write(
            "claim", lambda: self._database.claim(self.holder, kinds, runner, now, lease, limit)
        )

    async def settle(self, job: Job, effects: Effects = NOTHING) -> bool:
        """See `Ledger.settle`."""
        return await self._write("settle", lambda: self._database.settle(job, effects))

    async def renew(self, job: Job, until: float) -> bool:
        """See `Ledger.renew`."""
        return await self._write("renew", lambda: self._database.renew(self.holder, job, until))

    async def take_over(self, gone: Callable[[str], bool]) -> int:
        """End the leases of the daemons that are gone, and say so in the log, as the stores of the product do."""

        def end() -> int:
            ended = self._database.release(gone, self.now())
            if ended:
                self._database.record(Happening(type=TAKEN_OVER, at=self.now(), data={"jobs": ended}))
            return ended

        return await self._write("take_over", end)

    async def jobs(self, kind: str, subject: str) -> Sequence[Job]:
        """See `Ledger.jobs`."""
        return await self._read("jobs", lambda: self._database.about(kind, subject))

    async def hasten(self, kind: str, subject: str, due: float) -> int:
        """See `Ledger.hasten`."""
        return await self._write("hasten", lambda: self._database.hasten(kind, subject, due))

    async def next_due(self, kinds: Sequence[str], runner: str) -> float | None:
        """See `Ledger.next_due`."""
        return await self._read("next_due", lambda: self._database.next_due(kinds, runner))

    async def count_jobs(self) -> Mapping[str, int]:
        """See `Ledger.count_jobs`."""
        jobs = await self._read("count_jobs", self._database.jobs.values)
        counted: dict[str, int] = {}
        for job in jobs:
            counted[job.kind] = counted.get(job.kind, 0) + 1
        return counted

    async def prune(self, before: float, limit: int) -> int:
        """See `Store.prune`."""
        names, events = await self._write("prune", lambda: self._database.prune(before, limit))
        return len(names) + events

    async def put_token(self, token: Token) -> None:
        """See `Store.put_token`."""
        await self._write("put_token", lambda: self._database.tokens.update({token.name: token}))

    async def drop_token(self, name: str) -> bool:
        """See `Store.drop_token`."""
        return await self._write("drop_token", lambda: self._database.tokens.pop(name, None)) is not None

    async def tokens(self) -> Sequence[Token]:
        """See `Store.tokens`."""
        kept = await self._read("tokens", lambda: list(self._database.tokens.values()))
        return sorted(kept, key=lambda token: token.name)

    async def backup(self, path: str) -> None:
        """See `Store.backup`: memory has none."""
        raise StorageError(f"what is in memory cannot be backed up to {path!r}")

    async def close(self) -> None:
        """See `Store.close`."""
        self._closed = True
        self._tail.close()
        if self in self._peers:
            self._peers.remove(self)

    def _open(self) -> list[Kept]:
        return [kept for kept in self._database.inquiries.values() if kept.state == "open"]

    async def _read(self, method: str, question: Callable[[], T]) -> T:
        self._refuse_closed()
        await self._link.there(method, writes=False)
        found = question()
        await self._link.back(method)
        return found

    async def _write(self, method: str, work: Callable[[], T]) -> T:
        self._refuse_closed()
        await self._link.there(method, writes=True)
        try:
            done = work()
        finally:
            logged = self._database.taken_log()
            for peer in self._peers:
                peer.publish(logged)
        await self._link.back(method)
        return done

    def publish(self, logged: Sequence[Logged]) -> None:
        """Take in what was written by any daemon."""
        self._tail.publish(logged)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StorageError("the store is closed")


def _snoozed(kept: Kept) -> float | None:
    return getattr(kept.inquiry.state, "snoozed_until", None)


def _page(database: Database, query: Query) -> Page:
    if query.limit < 1:
        raise InvalidRequest(f"limit {query.limit!r} is not a positive number")
    name = order(query)
    found = [kept for kept in database.inquiries.values() if _fits(kept, query)]
    if query.is_search:
        found = [kept for kept in found if _is_found(database, kept, query)]
    found.sort(key=lambda kept: _place(name, kept), reverse=name not in {"open", "queued"})
    if query.cursor is not None:
        at = _position(name, query.cursor)
        found = [
            k for k in found if (_place(name, k) > at if name in {"open", "queued"} else _place(name, k) < at)
        ]
    page = found[: query.limit]
    more = None
    if len(found) > query.limit:
        closed_at, number = _place(name, page[-1])
        more = f"{name}-{number}-{closed_at!r}"
    return Page(items=tuple(kept.inquiry for kept in page), next=more)


def _place(name: str, kept: Kept) -> tuple[float, int]:
    return (kept.closed_at or 0.0) if name == "closed" else 0.0, kept.number


def _position(name: str, cursor: str) -> tuple[float, int]:
    begins, _, rest = cursor.partition("-")
    number, _, at = rest.partition("-")
    if begins != name or not number.isdecimal() or len(number) > 18:
        raise InvalidRequest(f"{cursor[:64]!r} is not a cursor of this list")
    return float(at), int(number)


def _fits(kept: Kept, query: Query) -> bool:
    origin = kept.inquiry.origin
    is_closed = kept.closed_at is not None
    if query.state is None:
        fits = query.closed_since is None or is_closed
    else:
        fits = is_closed if query.state == "closed" else kept.state == query.state
    return (
        fits
        and (query.closed_since is None or (kept.closed_at or 0.0) >= query.closed_since)
        and query.agent in {None, origin.agent}
        and query.kind in {None, kept.inquiry.kind}
        and query.run in {None, origin.run}
        and query.workspace in {None, origin.workspace}
    )


def _is_found(database: Database, kept: Kept, query: Query) -> bool:
    if not query.text.strip():
        return True
    wanted, words = searching.wanted(query.text), database.words.get(kept.inquiry.id, [])
    return bool(wanted) and all(any(word.startswith(each) for word in words) for each in wanted)
