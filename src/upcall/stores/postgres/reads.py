"""Reads outside of transactions, over a few connections that are made when they are needed.

A read changes nothing, so it is repeated on another connection when its own is lost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, LiteralString, TypeVar

from psycopg import Error

from upcall.domain.errors import DamagedRow, InvalidRequest, StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.roles import Token
from upcall.ports.store import Event, Page, Query
from upcall.stores import codec
from upcall.stores.damage import log_once, readable
from upcall.stores.listing import cursor, listing
from upcall.stores.postgres import search
from upcall.stores.postgres.connection import Connection
from upcall.stores.postgres.connector import Backoff, Connector
from upcall.stores.postgres.errors import is_lost, storage_error
from upcall.stores.postgres.rows import MOST, Found, columns, decode, is_text, keep, located, plain
from upcall.stores.postgres.statements import ASKED_BEFORE
from upcall.stores.sqlite.reads import token_in
from upcall.stores.sqlite.staged import request_of
from upcall.stores.tail import EVENT_WEIGHT, Logged
from upcall.stores.words import caught_up

T = TypeVar("T")
CONNECTIONS = 4
UNREADABLE = "unreadable"
"""The type of an event in memory if its row cannot be read."""

DUE = "SELECT id FROM upcall.inquiry WHERE state = 'open' AND expires_at <= %s ORDER BY expires_at LIMIT %s"
NEXT_EXPIRY = "SELECT min(expires_at) FROM upcall.inquiry WHERE state = 'open'"
COUNT_OPEN = "SELECT count(*) FROM upcall.inquiry WHERE state = 'open'"
COUNT_SNOOZED = """
    SELECT count(*) FROM upcall.inquiry
    WHERE state = 'open' AND substring(outcome FROM '^{"snoozed_until":([0-9.]+)')::double precision > %s
"""
EVENTS = "SELECT seq, type, inquiry, at, data FROM upcall.event WHERE seq > %s ORDER BY seq LIMIT %s"
_ITEMS = "SELECT seq, type, inquiry, at, data FROM upcall.event WHERE type = 'thread_item'"
ITEMS_AFTER = f"{_ITEMS} AND (data::json ->> 'thread') = %s AND seq > %s ORDER BY seq LIMIT %s"
ITEMS_BEFORE = f"{_ITEMS} AND (data::json ->> 'thread') = %s AND seq < %s ORDER BY seq DESC LIMIT %s"
# Both in one statement, which sees one moment: the inquiry is as its last event left it.
NEWS = f"""
    SELECT seq, type, inquiry, at, data, {", ".join(f"about.{column}" for column in codec.COLUMNS.split(", "))}
    FROM upcall.event LEFT JOIN upcall.inquiry AS about ON about.id = event.inquiry
    WHERE seq > %s ORDER BY seq LIMIT %s
"""  # noqa: S608 - our own constant; values are bound
ATTACHMENT = "SELECT content FROM upcall.attachment WHERE inquiry = %s AND position = %s"
TOKENS = "SELECT name, role, digest, created_at FROM upcall.token ORDER BY name"


class Reads:
    """Questions to the database. Single inquiries that are asked for at the same time are fetched together."""

    def __init__(self, connector: Connector, patience: float) -> None:
        self._connector = connector
        self._patience = patience
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._closed = False
        self._wanted: dict[str, list[asyncio.Future[Inquiry]]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._indexing = asyncio.Lock()

    def get(self, name: str) -> asyncio.Future[Inquiry]:
        """One inquiry."""
        if self._closed:
            raise StorageError("the store is closed")
        future: asyncio.Future[Inquiry] = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(name, []).append(future)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return future

    async def requested(self, origin: Origin) -> Inquiry | None:
        """The latest inquiry of a request."""
        request = request_of(origin)
        if request is None:
            return None
        rows = await self.rows(ASKED_BEFORE, columns([request]))
        return decode(rows[0][1:]) if rows else None

    async def find(self, query: Query) -> Page:
        """A page of inquiries."""
        complete = not query.is_search or await caught_up(self.index_words)
        rows: list[tuple[Any, ...]] = []
        for sql, values in search.statements(query) if query.is_search else [statement(query)]:
            rows = await self.rows(sql, values)
            if len(rows) > query.limit:
                break
        shown, more = rows[: query.limit], len(rows) > query.limit
        return Page(
            items=tuple(readable(shown, lambda row: decode(row[2:]))),
            next=cursor(query, shown[-1][0], shown[-1][1]) if more else None,
            complete=complete,
        )

    async def index_words(self, limit: int) -> int:
        """See `Store.index_words`."""
        # A second search of this daemon waits for the words that the first one is writing.
        async with self._indexing:
            rows = await self.rows(search.UNINDEXED, (limit,))
            if not rows:
                return 0
            # Reading long texts for their words takes a while, and agents decide how long these are.
            found = await asyncio.to_thread(search.words, rows)
            ((written,),) = await self.rows(search.INDEX, found)
            # Those that another daemon is at are left to it.
            return int(written)

    async def due(self, now: float, limit: int) -> list[str]:
        """Which open inquiries are past their time, the longest first."""
        return [plain(name) for (name,) in await self.rows(DUE, (now, limit))]

    async def next_expiry(self) -> float | None:
        """When the next open inquiry expires."""
        ((moment,),) = await self.rows(NEXT_EXPIRY)
        return None if moment is None else float(moment)

    async def count_open(self, awake_at: float | None = None) -> int:
        """The number of open inquiries, without those that are snoozed beyond that time."""
        ((count,),) = await self.rows(COUNT_OPEN)
        if awake_at is None:
            return int(count)
        ((snoozed,),) = await self.rows(COUNT_SNOOZED, (awake_at,))
        return int(count) - int(snoozed)

    async def attachment(self, name: str, index: int) -> bytes:
        """An attachment's bytes."""
        about = (await self.get(name)).id
        rows = await self.rows(ATTACHMENT, (keep(about), index)) if 0 <= index < 2**31 else []
        if not rows:
            raise UnknownInquiry(name)
        return bytes(rows[0][0])

    async def events(self, after: int, limit: int) -> list[Event]:
        """The log after that number."""
        while rows := await self.rows(EVENTS, (min(after, MOST), min(limit, MOST))):
            if found := readable(rows, _event):
                return found
            after = rows[-1][0]
        return []

    async def last_seq(self) -> int:
        """The number of the latest event, as the database knows it."""
        ((last,),) = await self.rows("SELECT last_seq FROM upcall.counter", ())
        return int(last)

    async def thread_items(self, thread: str, after: int, before: int | None, limit: int) -> list[Event]:
        """The items of a thread."""
        most = min(limit, MOST)
        if before is None:
            while rows := await self.rows(ITEMS_AFTER, (keep(thread), min(after, MOST), most)):
                if found := readable(rows, _event):
                    return found
                after = rows[-1][0]
            return []
        rows = await self.rows(ITEMS_BEFORE, (keep(thread), min(before, MOST), most))
        return readable(rows, _event)[::-1]

    async def news(self, after: int, limit: int) -> list[Logged]:
        """The log after that number, for memory: inquiries that are at hand come with their last event."""
        rows = await self.rows(NEWS, (after, limit))
        # What was cut off by the limit may have changed them again.
        last = {row[2]: row[0] for row in rows} if len(rows) < limit else {}
        return [_logged(row, subject=row[0] == last.get(row[2])) for row in rows]

    async def tokens(self) -> list[Token]:
        """Every token."""
        return readable(await self.rows(TOKENS), lambda row: token_in((plain(row[0]), *row[1:])))

    async def rows(
        self, sql: LiteralString | bytes, values: Any = (), *, closing: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows that a statement finds.

        Raises:
            InvalidRequest: if a value is not text.
            StorageError: if the database cannot be asked.
        """

        async def ask(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(sql, values)).fetchall()

        async with self._free:
            if self._closed and not closing:
                raise StorageError("the store is closed")
            try:
                return await self._ask(ask)
            except UnicodeEncodeError as error:
                raise InvalidRequest(f"{error.object!r} is not text") from error

    async def close(self) -> None:
        """Close every connection; reads that have begun are finished first."""
        self._closed = True
        if self._looking is not None:
            await self._looking
        for _ in range(CONNECTIONS):
            await self._free.acquire()
        while self._idle:
            await _let_go(self._idle.pop())
        for _ in range(CONNECTIONS):
            # A read that waits for a connection learns that there is none.
            self._free.release()

    async def _look(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            names = [name for name in wanted if is_text(name)]
            found, failure = Found(), None
            try:
                if names:
                    found = Found(await self.rows(*located(names), closing=True))
            # Any error has to reach the callers that wait.
            except Exception as error:  # noqa: BLE001 - a future carries it on
                failure = error
            for name, futures in wanted.items():
                row, problem = None, failure or UnknownInquiry(name)
                try:
                    row = found.get(name)
                except DamagedRow as damage:
                    problem = damage
                for future in futures:
                    if future.done():
                        continue
                    if row is not None:
                        future.set_result(row.inquiry)
                    else:
                        future.set_exception(problem)
        self._looking = None

    async def _ask(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        loop, backoff = asyncio.get_running_loop(), Backoff()
        deadline = loop.time() + self._patience
        while True:
            connection: Connection | None = None
            try:
                connection = self._idle.pop() if self._idle else await self._connector.connect()
                answer = await question(connection)
            except (Error, StorageError) as error:
                lost = connection is None or is_lost(error)
                if connection is not None and not lost:
                    self._idle.append(connection)
                elif connection is not None:
                    await _let_go(connection)
                if _is_cancelled():
                    # Psycopg waits for the end of a cancelled query, and a connection that is lost meanwhile is all that it tells.
                    raise asyncio.CancelledError from error
                if not lost or loop.time() >= deadline:
                    raise storage_error(error, self._connector.where) from error
                await backoff.pause()
            except BaseException:
                # Cancelled half-way: what state it is in is not worth finding out.
                if connection is not None:
                    await _let_go(connection)
                raise
            else:
                self._idle.append(connection)
                return answer


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def statement(query: Query) -> tuple[bytes, list[object]]:
    """The SQL and the values that answer a query; one row more than asked for tells whether there is a next page.

    Raises:
        InvalidRequest: if the state, the limit or the cursor is not one.
    """
    made = listing(query)
    where = made.where.replace("?", "%s")
    values = [keep(value) if isinstance(value, str) else value for value in made.values]
    sql = f"""
        SELECT number, closed_at, {codec.COLUMNS} FROM upcall.inquiry
        WHERE {where} ORDER BY {made.by} LIMIT %s
    """  # noqa: S608 - every part is one of our own constants
    return sql.encode(), [*values, min(query.limit + 1, MOST)]


def _event(row: Sequence[Any]) -> Event:
    seq, kind, about, at, data = row
    return Event(
        seq=seq,
        type=kind,
        inquiry=None if about is None else plain(about),
        at=at,
        data=codec.event_data(seq, kind, data),
    )


def _logged(row: tuple[Any, ...], *, subject: bool) -> Logged:
    weight = EVENT_WEIGHT + len(row[4])
    try:
        event = _event(row[:5])
        if subject and row[5] is not None:
            return Logged(replace(event, subject=decode(row[5:])), row[4], weight + len(row[-1]))
    except DamagedRow as problem:
        log_once(problem)
        # The log in memory has no gaps.
        event = Event(seq=row[0], type=UNREADABLE, inquiry=None, at=row[3], data={})
    return Logged(event, row[4], weight)


async def _let_go(connection: Connection) -> None:
    with suppress(Error):
        await connection.close()
