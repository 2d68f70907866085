"""The store for several daemons: one PostgreSQL database, one task that writes in groups, one that listens.

It knows neither answers nor people. Waiting readers are woken by this store's own commits and by those of every
other process that uses the database.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, LiteralString, Self, cast

from psycopg import Error

from upcall.domain.errors import StorageError, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.records import NOTHING, Effects, Happening, Job, Record
from upcall.domain.roles import Token
from upcall.ports.store import Added, Decide, Event, Page, Query, Records, Revise, Updated
from upcall.stores import codec
from upcall.stores.postgres import ledger
from upcall.stores.postgres.clock import DatabaseClock
from upcall.stores.postgres.connector import Connector
from upcall.stores.postgres.errors import storage_error
from upcall.stores.postgres.listener import SAFETY, LogListener
from upcall.stores.postgres.reads import Reads
from upcall.stores.postgres.schema import migrate
from upcall.stores.postgres.staged_ledger import prepared, refuse_broken_text
from upcall.stores.postgres.takeover import Takeover
from upcall.stores.postgres.work import (
    Adding,
    Claiming,
    Hastening,
    Issuing,
    Pruning,
    Recording,
    Releasing,
    Renewing,
    Revising,
    Revoking,
    Settling,
    Updating,
    UpdatingAll,
)
from upcall.stores.postgres.writer import MAX_GROUP, PATIENCE, Writer
from upcall.stores.tail import Tail

log = logging.getLogger("upcall.postgres")


class PostgresStore:
    """A `Store` in a PostgreSQL database; made by `PostgresStore.open`."""

    def __init__(
        self,
        connector: Connector,
        clock: Callable[[], float],
        tail: Tail,
        reads: Reads,
        listener: LogListener,
        writer: Writer,
        holder: str,
    ) -> None:
        self._connector = connector
        self._clock = clock
        self._tail = tail
        self._reads = reads
        self._listener = listener
        self._writer = writer
        self._holder = holder
        self._takeover = Takeover(holder, reads, self._release, self.record, self.now)

    @classmethod
    async def open(
        cls,
        address: str,
        *,
        direct: str = "",
        clock: Callable[[], float] | None = None,
        random: Random | None = None,
        max_group: int = MAX_GROUP,
        patience: float = PATIENCE,
        safety: float = SAFETY,
    ) -> Self:
        """Open the database at `address`, bringing it up to date as needed; it must exist.

        `direct` is where to listen when `address` leads to a pooler. `clock` takes the place of the database's,
        `random` chooses refs, `max_group` is how many writes may share a commit, `patience` for how many seconds an
        operation outlives a database that is away, and `safety` how often the log is looked at without being told.

        Raises:
            InvalidSetting: if it is not an address.
            NewerDatabase: if a later version of Upcall has written it.
            StorageError: if it cannot be reached, or is not ours.
        """
        connector = Connector(address, pooled=bool(direct))
        reads = Reads(connector, patience)
        theirs = DatabaseClock()
        tail = Tail(await _prepare(connector, theirs))
        # As a number it is the lock by which other daemons see that we are alive.
        life = secrets.randbits(62)
        listener = LogListener(
            Connector(direct) if direct else connector, reads, tail, theirs, life, safety=safety
        )
        writer = Writer(
            connector,
            listener.publish,
            clock or theirs.now,
            # Refs are names, not secrets.
            random or Random(),  # noqa: S311
            max_group=max_group,
            patience=patience,
        )
        try:
            await listener.start(lambda process: process == writer.backend)
        except BaseException:
            await writer.stop()
            await reads.close()
            raise
        store = cls(connector, clock or theirs.now, tail, reads, listener, writer, str(life))
        store._takeover.start()
        return store

    def now(self) -> float:
        """See `Ledger.now`. The time of the database's server, not of this machine."""
        return self._clock()

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = (), effects: Effects = NOTHING) -> Added:
        """See `Store.add`."""
        codec.refuse_broken_text(inquiry)
        work = Adding(inquiry, codec.body(inquiry), blobs, prepared(effects))
        return cast("Added", await self._writer.submit(work))

    async def get(self, name: str) -> Inquiry:
        """See `Store.get`. Read from the database: another daemon may have changed it a moment ago."""
        return await self._reads.get(name)

    async def requested(self, origin: Origin) -> Inquiry | None:
        """See `Store.requested`."""
        return await self._reads.requested(origin)

    async def find(self, query: Query) -> Page:
        """See `Store.find`."""
        return await self._reads.find(query)

    async def index_words(self, limit: int) -> int:
        """See `Store.index_words`."""
        return await self._reads.index_words(limit)

    async def update(self, name: str, decide: Decide) -> Updated:
        """See `Store.update`."""
        return cast("Updated", await self._writer.submit(Updating(name, decide)))

    async def update_all(self, names: Sequence[str], decide: Decide) -> Sequence[Updated | UpcallError]:
        """See `Store.update_all`."""
        work = UpdatingAll(names, decide)
        return cast("list[Updated | UpcallError]", await self._writer.submit(work))

    async def record(self, happening: Happening) -> Event:
        """See `Store.record`."""
        return cast("Event", await self._writer.submit(Recording(happening)))

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """See `Store.due`."""
        return await self._reads.due(now, limit)

    async def next_expiry(self) -> float | None:
        """See `Store.next_expiry`."""
        return await self._reads.next_expiry()

    async def attachment(self, name: str, index: int) -> bytes:
        """See `Store.attachment`."""
        return await self._reads.attachment(name, index)

    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        """See `Store.events`. Only events served from memory carry their `subject`, and not all of them."""
        return await self._tail.read_on(after, wait, limit, self._reads.events, gather)

    async def thread_items(
        self, thread: str, *, after: int = 0, before: int | None = None, limit: int = 200
    ) -> Sequence[Event]:
        """See `Store.thread_items`."""
        return await self._reads.thread_items(thread, after, before, limit)

    async def last_seq(self, least: int = 0) -> int:
        """See `Store.last_seq`. What another daemon has only just committed may be missing, unless that is less than `least`."""
        return self._tail.last if least <= self._tail.last else await self._reads.last_seq()

    async def count_open(self, awake_at: float | None = None) -> int:
        """See `Store.count_open`."""
        return await self._reads.count_open(awake_at)

    async def look_up(self, kind: str, key: str) -> Record | None:
        """See `Ledger.look_up`."""
        return await ledger.look_up(self._reads, kind, key)

    async def records(
        self, kind: str, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Records:
        """See `Ledger.records`."""
        return await ledger.records(self._reads, kind, state, cursor, limit)

    async def revise(self, kind: str, key: str, decide: Revise) -> Record | None:
        """See `Ledger.revise`."""
        refuse_broken_text(kind, key)
        return cast("Record | None", await self._writer.submit(Revising(kind, key, decide)))

    async def claim(
        self, kinds: Sequence[str], *, runner: str, now: float, lease: float, limit: int
    ) -> Sequence[Job]:
        """See `Ledger.claim`. Returns nothing if the lease ended before the reply came: another daemon may have the job."""
        refuse_broken_text(runner, *kinds)
        work = Claiming(holder=self._holder, kinds=kinds, runner=runner, now=now, lease=lease, limit=limit)
        asked = self.now()
        jobs = cast("list[Job]", await self._writer.submit(work))
        if jobs and self.now() - asked >= lease:
            log.warning("claimed %s jobs, and was held up until the lease was over", len(jobs))
            return []
        return jobs

    async def settle(self, job: Job, effects: Effects = NOTHING) -> bool:
        """See `Ledger.settle`."""
        refuse_broken_text(job.id)
        return bool(await self._writer.submit(Settling(job, prepared(effects))))

    async def renew(self, job: Job, until: float) -> bool:
        """See `Ledger.renew`."""
        refuse_broken_text(job.id)
        return bool(await self._writer.submit(Renewing(self._holder, job, until)))

    async def jobs(self, kind: str, subject: str) -> Sequence[Job]:
        """See `Ledger.jobs`."""
        return await ledger.jobs(self._reads, kind, subject)

    async def hasten(self, kind: str, subject: str, due: float) -> int:
        """See `Ledger.hasten`."""
        refuse_broken_text(kind, subject)
        return cast("int", await self._writer.submit(Hastening(kind, subject, due)))

    async def _release(self, holder: str) -> int:
        return cast("int", await self._writer.submit(Releasing(holder, self.now())))

    async def next_due(self, kinds: Sequence[str], runner: str) -> float | None:
        """See `Ledger.next_due`."""
        return await ledger.next_due(self._reads, kinds, runner)

    async def count_jobs(self) -> Mapping[str, int]:
        """See `Ledger.count_jobs`."""
        return await ledger.count_jobs(self._reads)

    async def prune(self, before: float, limit: int) -> int:
        """See `Store.prune`."""
        return cast("int", await self._writer.submit(Pruning(before, limit)))

    async def put_token(self, token: Token) -> None:
        """See `Store.put_token`."""
        await self._writer.submit(Issuing(token))

    async def drop_token(self, name: str) -> bool:
        """See `Store.drop_token`."""
        return bool(await self._writer.submit(Revoking(name)))

    async def tokens(self) -> Sequence[Token]:
        """See `Store.tokens`."""
        return await self._reads.tokens()

    async def backup(self, path: str) -> None:
        """PostgreSQL has better tools for it.

        Raises:
            StorageError: always.
        """
        raise StorageError(
            f"the database {self._connector.where} is not a file that could be copied to {path!r}",
            hint="back it up with `pg_dump --schema=upcall`, or as its server's other databases are",
        )

    async def close(self) -> None:
        """See `Store.close`."""
        self._tail.close()
        await self._takeover.close()
        await self._writer.stop()
        await self._listener.close()
        await self._reads.close()


async def _prepare(connector: Connector, clock: DatabaseClock) -> int:
    connection = await connector.connect()

    async def ask(sql: LiteralString) -> list[tuple[Any, ...]]:
        return await (await connection.execute(sql)).fetchall()

    try:
        last = await migrate(connection)
        await clock.set(ask)
        clock.warn()
        return last
    except Error as error:
        raise storage_error(error, connector.where) from error
    finally:
        await asyncio.shield(connection.close())
