"""The embedded store: one SQLite file, one thread that writes in groups, one that reads, one that searches.

It knows neither answers nor people. One process owns the file: waiting readers are woken by this store's own
commits, nothing is polled.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Concatenate, ParamSpec, Self, TypeVar
from uuid import uuid4

from upcall.domain.errors import InvalidRequest, StorageError, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.records import NOTHING, Effects, Happening, Job, Record
from upcall.domain.roles import Token
from upcall.ports.store import Added, Decide, Event, Page, Query, Records, Revise, Updated
from upcall.stores import codec
from upcall.stores.sqlite import ledger, search
from upcall.stores.sqlite.backup import copy
from upcall.stores.sqlite.connections import connect
from upcall.stores.sqlite.errors import storage_error
from upcall.stores.sqlite.reader import Reader
from upcall.stores.sqlite.reads import Reads
from upcall.stores.sqlite.writer import MAX_GROUP, Writer
from upcall.stores.sqlite.writes import Writes
from upcall.stores.tail import Tail
from upcall.stores.words import caught_up

P = ParamSpec("P")
T = TypeVar("T")


class SqliteStore:
    """A `Store` in a SQLite file; made by `SqliteStore.open`."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        tail: Tail,
        reads: Reads,
        searches: Reads,
        writes: Writes,
        writer: Writer,
    ) -> None:
        self._path = path
        self.now = clock
        self._tail = tail
        self._reads = reads
        self._reader = Reader("upcall-reader")
        self._searches = searches
        # No list waits for a search.
        self._searcher = Reader("upcall-searcher")
        self._indexing = asyncio.Lock()
        self._writes = writes
        self._writer = writer
        self._holder = uuid4().hex
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        clock: Callable[[], float] = time.time,
        random: Random | None = None,
        max_group: int = MAX_GROUP,
        max_pages: int | None = None,
    ) -> Self:
        """Open the database at `path`, creating or bringing it up to date as needed; its folder must exist.

        `clock` tells the time and `random` chooses refs. `max_group` is how many writes may share a commit; 1 gives each its own,
        which is what the benchmark compares with. `max_pages` limits the database's size in pages of 4 KiB.

        Raises:
            NewerDatabase: if a later version of Upcall has written it.
            StorageError: if it is not ours, or cannot be opened.
        """
        path = Path(path)
        opened = await asyncio.to_thread(connect, path, max_pages)
        tail = Tail(opened.last_seq)
        # Refs are names, not secrets.
        writes = Writes(opened.writing, clock, random or Random())  # noqa: S311
        writer = Writer(
            opened.writing,
            writes,
            tail.publish,
            lambda error: storage_error(error, path),
            max_group=max_group,
        )
        return cls(path, clock, tail, Reads(opened.reading), Reads(opened.searching), writes, writer)

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = (), effects: Effects = NOTHING) -> Added:
        """See `Store.add`."""
        codec.refuse_broken_text(inquiry)
        body = codec.body(inquiry)
        return await self._writer.submit(lambda log: self._writes.add(inquiry, body, blobs, effects, log))

    async def get(self, name: str) -> Inquiry:
        """See `Store.get`."""
        recent = self._tail.subject(name)
        return recent if recent is not None else await self._read(self._reads.get, name)

    async def requested(self, origin: Origin) -> Inquiry | None:
        """See `Store.requested`."""
        return await self._read(self._reads.requested, origin)

    async def find(self, query: Query) -> Page:
        """See `Store.find`."""
        if not query.is_search:
            return await self._read(self._reads.find, query)
        complete = await caught_up(self.index_words)
        page = await self._in(self._searcher, self._searches.find, query)
        return replace(page, complete=complete)

    async def index_words(self, limit: int) -> int:
        """See `Store.index_words`."""
        async with self._indexing:
            found = await self._in(self._searcher, self._searches.ask, lambda db: search.unindexed(db, limit))
            if found:
                await self._do(search.index, found)
        return len(found)

    async def update(self, name: str, decide: Decide) -> Updated:
        """See `Store.update`."""
        return await self._writer.submit(lambda log: self._writes.update(name, decide, log))

    async def update_all(self, names: Sequence[str], decide: Decide) -> Sequence[Updated | UpcallError]:
        """See `Store.update_all`."""
        return await self._writer.submit(lambda log: self._writes.update_all(names, decide, log))

    async def record(self, happening: Happening) -> Event:
        """See `Store.record`."""
        return await self._writer.submit(lambda log: self._writes.record(happening, log))

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """See `Store.due`."""
        return await self._read(self._reads.due, now, limit)

    async def next_expiry(self) -> float | None:
        """See `Store.next_expiry`."""
        return await self._read(self._reads.next_expiry)

    async def attachment(self, name: str, index: int) -> bytes:
        """See `Store.attachment`."""
        return await self._read(self._reads.attachment, name, index)

    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        """See `Store.events`. Only events served from memory carry their `subject`."""
        return await self._tail.read_on(
            after, wait, limit, lambda since, most: self._read(self._reads.events, since, most), gather
        )

    async def thread_items(
        self, thread: str, *, after: int = 0, before: int | None = None, limit: int = 200
    ) -> Sequence[Event]:
        """See `Store.thread_items`."""
        return await self._read(self._reads.thread_items, thread, after, before, limit)

    async def last_seq(self, least: int = 0) -> int:
        """See `Store.last_seq`."""
        return self._tail.last

    async def count_open(self, awake_at: float | None = None) -> int:
        """See `Store.count_open`."""
        return await self._read(self._reads.count_open, awake_at)

    async def look_up(self, kind: str, key: str) -> Record | None:
        """See `Ledger.look_up`."""
        return await self._ask(ledger.look_up, kind, key)

    async def records(
        self, kind: str, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Records:
        """See `Ledger.records`."""
        return await self._ask(ledger.records, kind, state, cursor, limit)

    async def revise(self, kind: str, key: str, decide: Revise) -> Record | None:
        """See `Ledger.revise`."""
        return await self._writer.submit(lambda log: self._writes.revise(kind, key, decide, log))

    async def claim(
        self, kinds: Sequence[str], *, runner: str, now: float, lease: float, limit: int
    ) -> Sequence[Job]:
        """See `Ledger.claim`."""
        return await self._do(
            ledger.claim, self._holder, kinds, runner=runner, now=now, lease=lease, limit=limit
        )

    async def settle(self, job: Job, effects: Effects = NOTHING) -> bool:
        """See `Ledger.settle`."""
        return await self._writer.submit(lambda log: self._writes.settle(job, effects, log))

    async def renew(self, job: Job, until: float) -> bool:
        """See `Ledger.renew`."""
        return await self._do(ledger.renew, self._holder, job, until)

    async def end_leases(self) -> int:
        """End every lease of an earlier process. Returns their number. Only for the one process that owns the file."""
        return await self._do(ledger.release, self._holder, self.now())

    async def jobs(self, kind: str, subject: str) -> Sequence[Job]:
        """See `Ledger.jobs`."""
        return await self._ask(ledger.jobs, kind, subject)

    async def hasten(self, kind: str, subject: str, due: float) -> int:
        """See `Ledger.hasten`."""
        return await self._do(ledger.hasten, kind, subject, due)

    async def next_due(self, kinds: Sequence[str], runner: str) -> float | None:
        """See `Ledger.next_due`."""
        return await self._ask(ledger.next_due, kinds, runner)

    async def count_jobs(self) -> Mapping[str, int]:
        """See `Ledger.count_jobs`."""
        return await self._ask(ledger.count_jobs)

    async def prune(self, before: float, limit: int) -> int:
        """See `Store.prune`."""
        inquiries, events = await self._writer.submit(lambda _: self._writes.prune(before, limit))
        self._tail.forget(inquiries)
        return len(inquiries) + events

    async def put_token(self, token: Token) -> None:
        """See `Store.put_token`."""
        await self._writer.submit(lambda _: self._writes.put_token(token))

    async def drop_token(self, name: str) -> bool:
        """See `Store.drop_token`."""
        return await self._writer.submit(lambda _: self._writes.drop_token(name))

    async def tokens(self) -> Sequence[Token]:
        """See `Store.tokens`."""
        return await self._read(self._reads.tokens)

    async def backup(self, path: str) -> None:
        """See `Store.backup`. A file that is there already is replaced once the copy is complete."""
        # Not in the reader's thread: a big copy takes seconds, and lists should not wait for it.
        await asyncio.to_thread(copy, self._path, Path(path))

    async def close(self) -> None:
        """See `Store.close`."""
        if not self._closed:
            self._closed = True
            self._tail.close()
            # First the readers: the connection that closes last removes the files beside the database.
            for thread, reads in ((self._reader, self._reads), (self._searcher, self._searches)):
                await thread.stop(reads.close)
        await self._writer.stop()

    async def _ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return await self._read(self._reads.ask, lambda db: question(db, *args, **kwargs))

    async def _do(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._writer.submit(lambda _: self._writes.do(lambda db: work(db, *args, **kwargs)))

    async def _read(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in(self._reader, question, *args, **kwargs)

    async def _in(self, thread: Reader, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise StorageError("the store is closed")
        try:
            return await thread.submit(lambda: question(*args, **kwargs))
        except sqlite3.Error as error:
            raise storage_error(error, self._path) from error
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"{error.object!r} is not text") from error
