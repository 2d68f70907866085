"""Keeps the tail of the log up to date with what every daemon commits, ours and others.

One connection listens. A notification only says that there is news: what it is stands in the log, which is read from
where we stood, on every new connection first and every few seconds anyway, when the clock is looked at too. So a lost notification costs moments, and
a lost connection nothing but the time to make another.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from psycopg import Error

from upcall.domain.errors import StorageError
from upcall.stores.postgres.clock import DatabaseClock
from upcall.stores.postgres.connection import Connection, News
from upcall.stores.postgres.connector import Backoff, Connector
from upcall.stores.postgres.errors import storage_error
from upcall.stores.postgres.group import Group
from upcall.stores.postgres.reads import Reads
from upcall.stores.postgres.statements import CHANNEL
from upcall.stores.tail import Logged, Tail

SAFETY = 3.0
"""Seconds after which the log is read without a notification."""
AT_ONCE = 1000

log = logging.getLogger("upcall.postgres")


class LogListener:
    """Publishes every committed event to the tail, once and in order.

    Its connection has the advisory lock `life`, which ends with this process: see `takeover`.
    """

    def __init__(
        self,
        connector: Connector,
        reads: Reads,
        tail: Tail,
        clock: DatabaseClock,
        life: int,
        *,
        safety: float = SAFETY,
    ) -> None:
        self._connector = connector
        self._reads = reads
        self._tail = tail
        self._clock = clock
        self._life = life
        self._has_life = False
        self._safety = safety
        self._is_own: Callable[[int], bool] = lambda _: False
        self._connection: Connection | None = None
        self._listening: asyncio.Task[None] | None = None

    async def start(self, is_own: Callable[[int], bool]) -> None:
        """Begin to listen; `is_own` recognises the server process of this daemon's own writes, which are published already.

        Raises:
            StorageError: if the database cannot be reached.
        """
        self._is_own = is_own
        try:
            await self._listen()
        except BaseException:
            await self._let_go()
            raise
        self._listening = asyncio.create_task(self._follow_for_ever())

    async def close(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._let_go()

    async def publish(self, group: Group) -> None:
        """Publish our own commit, after the earlier commits of other daemons."""
        if not group.log:
            return
        if self._tail.last < group.before:
            try:
                await self._catch_up()
            except StorageError:
                # It is committed all the same, and will be read once the log can be.
                log.warning("the log cannot be read; it is tried again in a moment")
        if self._tail.last >= group.before:
            self._take(group.log)

    async def _catch_up(self) -> None:
        while True:
            found = await self._reads.news(self._tail.last, AT_ONCE)
            self._take(found)
            if len(found) < AT_ONCE:
                return

    def _take(self, entries: Sequence[Logged]) -> None:
        # Two readers may read the same part of the log at once; the second one has nothing new.
        self._tail.publish([entry for entry in entries if entry.event.seq > self._tail.last])

    async def _follow_for_ever(self) -> None:
        backoff = Backoff()
        while True:
            try:
                connection = self._connection or await self._listen()
                backoff = Backoff()
                await self._follow(connection)
            except (Error, StorageError) as error:
                log.warning("%s; trying again", storage_error(error, self._connector.where).message)
            except Exception:
                # A fault of ours, or a row that cannot be read, must not end the only task that hears of news.
                log.exception("following the log of %s failed; trying again", self._connector.where)
            await self._let_go()
            await backoff.pause()

    async def _listen(self) -> Connection:
        connection = self._connection = await self._connector.connect()
        try:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._has_life = False
            await self._live(connection)
        except Error as error:
            raise storage_error(error, self._connector.where) from error
        log.info("listening to the database %s", self._connector.where)
        return connection

    async def _live(self, connection: Connection) -> None:
        """Take the lock that shows that this daemon is alive; the server may still count it to an earlier connection."""
        if not self._has_life:
            taken = await connection.execute("SELECT pg_try_advisory_lock(%s)", (self._life,))
            self._has_life = await taken.fetchone() == (True,)

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Error):
                await connection.close()

    async def _follow(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        await self._catch_up()
        looked = float("-inf")
        while True:
            if loop.time() >= looked + self._safety:
                # Not over this connection, which may be dead without our knowing.
                await self._clock.set(self._reads.rows)
                await self._live(connection)
                looked = loop.time()
            woken = await _readable(connection, self._safety)
            if not woken or any(self._is_new(news) for news in connection.told()):
                await self._catch_up()

    def _is_new(self, news: News) -> bool:
        if self._is_own(news.process):
            return False
        return not news.text.isdecimal() or int(news.text) > self._tail.last


async def _readable(connection: Connection, seconds: float) -> bool:
    """Wait until the server says something; False when it did not."""
    # psycopg would wait in small steps, which costs an idle daemon ten looks a second.
    loop = asyncio.get_running_loop()
    said: asyncio.Future[bool] = loop.create_future()

    def settle(outcome: bool) -> None:  # noqa: FBT001 - a callback's only argument
        if not said.done():
            said.set_result(outcome)

    socket = connection.fileno()
    timer = loop.call_later(seconds, settle, False)
    loop.add_reader(socket, settle, True)
    try:
        return await said
    finally:
        timer.cancel()
        loop.remove_reader(socket)
