"""The embedded store: one SQLite file, one thread that writes in groups, one that reads.

It knows neither answers nor people. One process owns the file: waiting readers are woken by this store's own
commits, nothing is polled.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import ParamSpec, Self, TypeVar

from upcall.domain.errors import InvalidRequest, StorageError
from upcall.domain.inquiry import Happening, Inquiry
from upcall.domain.roles import Token
from upcall.ports import Added, Decide, Event, Page, Query, Updated
from upcall.stores import codec
from upcall.stores.backup import copy, create_private, sync
from upcall.stores.faults import in_our_words
from upcall.stores.migrations import migrate, refuse_unfit
from upcall.stores.reads import Reads, last_seq
from upcall.stores.tail import Tail
from upcall.stores.writer import MAX_GROUP, Writer
from upcall.stores.writes import Writes

P = ParamSpec("P")
T = TypeVar("T")

BUSY_MS = 5000
# FULL with WAL syncs each commit; `fullfsync` is what a sync needs to mean that on macOS. Checkpoints are the
# writer's business, except that a log of 64 MiB is too long however few rows it is made of.
_WRITER_PRAGMAS = f"""
    PRAGMA busy_timeout = {BUSY_MS};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 16384;
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
"""
_READER_PRAGMAS = f"""
    PRAGMA busy_timeout = {BUSY_MS};
    PRAGMA query_only = ON;
    PRAGMA cache_size = -8192;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
"""


class SqliteStore:
    """A `Store` in a SQLite file; made by `SqliteStore.open`."""

    def __init__(self, path: Path, tail: Tail, reads: Reads, writes: Writes, writer: Writer) -> None:
        self._path = path
        self._tail = tail
        self._reads = reads
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="upcall-reader")
        self._writes = writes
        self._writer = writer
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

        `clock` and `random` choose refs. `max_group` is how many writes may share a commit; 1 gives each its own,
        which is what the benchmark compares with. `max_pages` limits the database's size in pages of 4 KiB.

        Raises:
            NewerDatabase: if a later version of Upcall has written it.
            StorageError: if it is not ours, or cannot be opened.
        """
        path = Path(path)
        writing, reading, last = await asyncio.to_thread(_connect, path, max_pages)
        tail = Tail(last)
        # Refs are names, not secrets.
        writes = Writes(writing, clock, random or Random())  # noqa: S311
        writer = Writer(
            writing, writes, tail.publish, lambda error: in_our_words(error, path), max_group=max_group
        )
        return cls(path, tail, Reads(reading), writes, writer)

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = ()) -> Added:
        """See `Store.add`."""
        _refuse_broken_text(inquiry)
        body = codec.body(inquiry)
        return await self._writer.submit(lambda log: self._writes.add(inquiry, body, blobs, log))

    async def get(self, name: str) -> Inquiry:
        """See `Store.get`."""
        recent = self._tail.subject(name)
        return recent if recent is not None else await self._read(self._reads.get, name)

    async def find(self, query: Query) -> Page:
        """See `Store.find`."""
        return await self._read(self._reads.find, query)

    async def update(self, name: str, decide: Decide) -> Updated:
        """See `Store.update`."""
        return await self._writer.submit(lambda log: self._writes.update(name, decide, log))

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

    async def events(self, after: int, *, wait: float = 0, limit: int = 1000) -> Sequence[Event]:
        """See `Store.events`. Only events served from memory carry their `subject`."""
        deadline = asyncio.get_running_loop().time() + wait
        while True:
            floor = self._tail.floor
            found = self._tail.since(after, limit)
            if found is None:
                found = await self._read(self._reads.events, after, limit)
                after = after if found else floor
            if found or limit < 1:
                return found
            left = deadline - asyncio.get_running_loop().time()
            if not await self._tail.grown(after, left):
                return self._tail.since(after, limit) or []

    async def last_seq(self) -> int:
        """See `Store.last_seq`."""
        return self._tail.last

    async def count_open(self) -> int:
        """See `Store.count_open`."""
        return await self._read(self._reads.count_open)

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
            let_go = self._reader.submit(self._reads.close)
            self._reader.shutdown(wait=False)
            # First the reader: whoever closes last cleans up the files beside the database.
            await asyncio.shield(asyncio.wrap_future(let_go))
        await self._writer.stop()

    async def _read(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise StorageError("the store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._reader, lambda: question(*args, **kwargs)
            )
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"{error.object!r} is not text") from error


def _refuse_broken_text(inquiry: Inquiry) -> None:
    # JSON can carry half a surrogate pair; the body keeps it, but a column cannot.
    origin = inquiry.origin
    for text in (inquiry.id, origin.agent, origin.session, origin.purpose, origin.request_key or ""):
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise InvalidRequest(f"{text!r} is not text") from error


def _connect(path: Path, max_pages: int | None) -> tuple[sqlite3.Connection, sqlite3.Connection, int]:
    opened: list[sqlite3.Connection] = []
    try:
        with suppress(FileExistsError):
            create_private(path)
            sync(path.parent)
        # Each connection is used by one thread at a time, but not by the one that made it.
        writing = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        opened.append(writing)
        refuse_unfit(writing)
        writing.executescript(_WRITER_PRAGMAS)
        migrate(writing)
        if max_pages is not None:
            writing.execute(f"PRAGMA max_page_count = {max_pages:d}")
        uri = path.absolute().as_uri() + "?mode=ro"
        reading = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        opened.append(reading)
        reading.executescript(_READER_PRAGMAS)
        last = last_seq(reading)
    except BaseException as error:
        for connection in opened:
            connection.close()
        if isinstance(error, sqlite3.Error):
            raise in_our_words(error, path) from error
        if isinstance(error, OSError):
            raise StorageError(f"cannot open {str(path)!r}: {error.strerror}") from error
        raise
    return writing, reading, last
