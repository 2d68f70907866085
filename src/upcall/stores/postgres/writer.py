"""The one task that writes: all work that arrives during a transaction shares the next one.

A transaction takes two round trips: lock and read, decide in memory, write and commit. Results are released after
the commit, events first. A connection that is lost is made again. What surely was not committed is then run again;
where the commit itself was cut off, its signature in the database tells whether it took place, so nothing is done
twice and nothing that was done is called a failure.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple
from uuid import uuid4

from psycopg import Error

from upcall.domain.errors import StorageError
from upcall.stores.postgres import statements
from upcall.stores.postgres.connection import Connection
from upcall.stores.postgres.connector import Backoff, Connector
from upcall.stores.postgres.errors import is_hopeless, is_lost, storage_error
from upcall.stores.postgres.free_refs import FreeRefs
from upcall.stores.postgres.group import Group
from upcall.stores.postgres.transaction import begin
from upcall.stores.postgres.work import Adding, Work
from upcall.stores.ref_lengths import RefLengths
from upcall.stores.results import Result, release

MAX_GROUP = 1024
PATIENCE = 10.0
"""Seconds for which a write survives a database that is away."""

Publish = Callable[[Group], Awaitable[None]]

log = logging.getLogger("upcall.postgres")


class _Task(NamedTuple):
    work: Work
    future: asyncio.Future[Any]


class _CutOffError(Exception):
    """The connection was lost after COMMIT had been sent and before anything came back."""

    def __init__(self, reason: Error, group: Group, results: list[Result], number: int) -> None:
        super().__init__()
        self.reason = reason
        self.group = group
        self.results = results
        self.number = number


class Writer:
    """Runs work in groups, one transaction each; `max_group=1` gives every piece of work a commit of its own."""

    def __init__(
        self,
        connector: Connector,
        publish: Publish,
        clock: Callable[[], float],
        random: Random,
        *,
        max_group: int = MAX_GROUP,
        patience: float = PATIENCE,
    ) -> None:
        self._connector = connector
        self._publish = publish
        self._clock = clock
        self._random = random
        self._lengths = RefLengths()
        self._max_group = max_group
        self._patience = patience
        self._name = uuid4().hex
        self._number = 0
        self._connection: Connection | None = None
        self._gathered: list[_Task] = []
        self._complaint = ""
        self._wanted = asyncio.Event()
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        self._running = asyncio.create_task(self._run())

    @property
    def backend(self) -> int | None:
        """The server's process that works for us, by which our own notifications are known."""
        return None if self._connection is None else self._connection.info.backend_pid

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Do and commit `work`; cancelling the future does not undo it."""
        if self._stopping:
            raise StorageError("the store is closed")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._gathered.append(_Task(work, future))
        self._wanted.set()
        return future

    async def stop(self) -> None:
        """Do what was submitted, then close the connection."""
        self._stopping = True
        self._wanted.set()
        await asyncio.shield(self._running)

    async def _run(self) -> None:
        while self._gathered or not self._stopping:
            if not self._gathered:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            group, self._gathered = self._gathered[: self._max_group], self._gathered[self._max_group :]
            try:
                await self._settle(group, self._loop.time() + self._patience)
            # A bug of ours must neither leave a caller waiting for ever nor end the task that all writes need.
            except Exception as error:
                log.exception("a group of writes failed unexpectedly")
                await self._let_go()
                _refuse(group, error)
        if self._connection is not None:
            with suppress(Error):
                await self._connection.execute(statements.SIGN_OFF, (self._name,))
        await self._let_go()

    async def _settle(self, tasks: list[_Task], deadline: float) -> bool:
        """Commit or refuse a group; False when the next group would be refused as well.

        It is tried at least once, and again until the deadline.
        """
        backoff = Backoff()
        while True:
            try:
                group, results = await self._attempt(tasks)
            except _CutOffError as cut:
                await self._let_go()
                try:
                    kept = await self._was_kept(cut.number, deadline)
                except StorageError as error:
                    self._give_up(tasks, error)
                    return False
                if not kept:
                    # The same cause may end each attempt: it is tried until the deadline of every other write, and no longer.
                    if self._loop.time() >= deadline:
                        return await self._settle_apart(tasks, cut.reason, deadline)
                    await backoff.pause()
                    continue
                group, results = cut.group, cut.results
            except (Error, StorageError) as error:
                if self._connection is not None and not is_lost(error):
                    return await self._settle_apart(tasks, error, deadline)
                await self._let_go()
                if self._loop.time() >= deadline or (self._stopping and isinstance(error, StorageError)):
                    self._give_up(tasks, error)
                    return False
                log.warning("%s; trying again", storage_error(error, self._connector.where).message)
                await backoff.pause()
                continue
            await self._publish(group)
            # One turn of the loop later: waiting agents are woken first, and no reply to a writer is made before that.
            self._loop.call_soon(release, results)
            if self._complaint:
                log.info("the database %s takes what is written again", self._connector.where)
                self._complaint = ""
            return True

    async def _settle_apart(self, tasks: list[_Task], error: Error | StorageError, deadline: float) -> bool:
        """Run the members of a group that failed one by one, so that only those fail that fail alone."""
        await self._roll_back()
        if len(tasks) == 1:
            self._give_up(tasks, error)
            return not is_hopeless(error)
        for at, task in enumerate(tasks):
            if not await self._settle([task], deadline):
                _refuse(tasks[at + 1 :], storage_error(error, self._connector.where))
                return False
        return True

    def _give_up(self, tasks: list[_Task], error: Error | StorageError) -> None:
        """Refuse what cannot be written. Why is said in the log once, until something can be written again."""
        told = storage_error(error, self._connector.where)
        if told.message != self._complaint:
            log.error("%s", told.message)
            self._complaint = told.message
        _refuse(tasks, told)

    async def _attempt(self, tasks: list[_Task]) -> tuple[Group, list[Result]]:
        if self._connection is None:
            self._connection = await self._connector.connect()
        connection = self._connection
        works = [task.work for task in tasks]
        adding = [work for work in works if isinstance(work, Adding)]
        refs = FreeRefs(adding, self._random, self._lengths, self._clock())
        group = await begin(connection, works, refs)
        results = [_decided(group, task) for task in tasks]
        if group.is_empty:
            await connection.execute("ROLLBACK")
            return group, results
        self._number += 1
        try:
            await statements.write(connection, group, self._name, self._number)
        except Error as error:
            if is_lost(error) and error.sqlstate != "25006":
                raise _CutOffError(error, group, results, self._number) from error
            raise
        return group, results

    async def _was_kept(self, number: int, deadline: float) -> bool:
        """Whether the commit of that number took place, after its confirmation was lost.

        The lock waits until the server has ended the transaction that we lost, one way or the other.
        """
        backoff = Backoff()
        while True:
            try:
                connection = self._connection = self._connection or await self._connector.connect()
                async with connection.transaction():
                    await connection.execute(*statements.locked())
                    found = await connection.execute(statements.SIGNED, (self._name,))
                    return (number,) in await found.fetchall()
            except (Error, StorageError) as error:
                await self._let_go()
                if self._loop.time() >= deadline:
                    raise StorageError(
                        f"the connection to the database {self._connector.where} was lost during a commit, and whether "
                        "it took place is not known",
                        hint="look before you try again",
                    ) from error
                await backoff.pause()

    async def _roll_back(self) -> None:
        if self._connection is not None:
            try:
                await self._connection.execute("ROLLBACK")
            except Error:
                await self._let_go()

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Error):
                await connection.close()


def _decided(group: Group, task: _Task) -> Result:
    try:
        return Result(task.future, group.run(task.work), None)
    # Any exception of a decision belongs to its caller; this task has to go on.
    except BaseException as error:  # noqa: BLE001 - a future carries it on
        return Result(task.future, None, error)


def _refuse(tasks: list[_Task], error: BaseException) -> None:
    release([Result(task.future, None, error) for task in tasks])
