"""The one thread that writes: all work that arrives during a commit shares the next one.

It knows transactions, groups and futures, but not what is written. Results reach the event loop only after their
commit, in one call for the whole group: first the events, then the results for the callers.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from upcall.domain.errors import StorageError
from upcall.stores.results import Result, release
from upcall.stores.tail import Logged

T = TypeVar("T")
Work = Callable[[list[Logged]], T]
"""Writes through the connection that it was made for, and appends the events that it wrote to the list."""

MAX_GROUP = 1024
CHECKPOINT_COMMITS, CHECKPOINT_CHANGES = 256, 4000
"""After how many commits or changed rows the log is copied into the database: it stays a few megabytes long."""


class Transactions(Protocol):
    """Is told when transactions begin and end."""

    def begin(self) -> None:
        """A transaction has begun."""

    def finish(self, log: Sequence[Logged]) -> None:
        """A transaction with these events is about to be committed; what is written here still belongs to it."""

    def undo(self) -> None:
        """A transaction was rolled back."""


class _Task(NamedTuple):
    work: Work[Any]
    future: asyncio.Future[Any]


class _SpoiltGroupError(Exception):
    """A member failed half-way, or the database did: nothing of this transaction may stay."""


class Writer:
    """Runs work in groups, one transaction each; `max_group=1` gives every piece of work a commit of its own.

    Work must have asked everything that can refuse it before it first writes. Then an error costs its group
    nothing; one that comes later has the group rolled back, and each member is run again in a transaction of its
    own, so that only those fail that fail alone.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        transactions: Transactions,
        publish: Callable[[Sequence[Logged]], None],
        translate: Callable[[BaseException], StorageError],
        *,
        max_group: int = MAX_GROUP,
    ) -> None:
        self._db = db
        self._transactions = transactions
        self._publish = publish
        self._translate = translate
        self._max_group = max_group
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[list[_Task] | None] = SimpleQueue()
        self._gathered: list[_Task] = []
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._stopping = False
        self._commits = 0
        self._copied = db.total_changes
        self._thread = threading.Thread(target=self._run, name="upcall-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        """Do and commit `work`; cancelling the future does not undo it."""
        if self._stopping:
            raise StorageError("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._gathered:
            # What is submitted in one turn of the loop wakes the thread once.
            self._loop.call_soon(self._hand_over)
        self._gathered.append(_Task(work, future))
        return future

    async def stop(self) -> None:
        """Do what was submitted, then end the thread and close its connection."""
        if not self._stopping:
            self._stopping = True
            self._hand_over()
            self._queue.put(None)
        await asyncio.shield(self._stopped)
        self._thread.join()

    def _hand_over(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._queue.put(gathered)

    def _run(self) -> None:
        more = True
        while more:
            tasks, more = self._take()
            for start in range(0, len(tasks), self._max_group):
                self._settle(tasks[start : start + self._max_group])
                self._checkpoint_if_long()
        self._checkpoint()
        with suppress(sqlite3.Error):
            self._db.close()
        self._call(_settle_stopped, self._stopped)

    def _take(self) -> tuple[list[_Task], bool]:
        tasks: list[_Task] = []
        more = self._queue.get()
        while more is not None:
            tasks += more
            try:
                more = self._queue.get_nowait()
            except Empty:
                return tasks, True
        return tasks, False

    def _settle(self, group: list[_Task]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._release([], [Result(task.future, None, self._translate(error)) for task in group])
            return
        try:
            self._release(*self._commit(group))
        except _SpoiltGroupError:
            for task in group:
                self._release(*self._alone(task))

    def _alone(self, task: _Task) -> tuple[list[Logged], list[Result]]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            return self._commit([task])
        except _SpoiltGroupError as spoilt:
            error = spoilt.__cause__ or spoilt
        except sqlite3.Error as begin_failed:
            error = begin_failed
        if isinstance(error, sqlite3.Error):
            error = self._translate(error)
        return [], [Result(task.future, None, error)]

    def _commit(self, group: list[_Task]) -> tuple[list[Logged], list[Result]]:
        log: list[Logged] = []
        try:
            self._transactions.begin()
            results = [self._attempt(task, log) for task in group]
            self._transactions.finish(log)
            self._db.execute("COMMIT")
        except _SpoiltGroupError:
            self._roll_back()
            raise
        except Exception as error:
            self._roll_back()
            raise _SpoiltGroupError from error
        return log, results

    def _attempt(self, task: _Task, log: list[Logged]) -> Result:
        changes = self._db.total_changes
        try:
            return Result(task.future, task.work(log), None)
        except sqlite3.Error:
            raise
        # Any exception of a decision belongs to its caller; this thread has to go on.
        except BaseException as error:
            if self._db.total_changes != changes:
                raise _SpoiltGroupError from error
            return Result(task.future, None, error)

    def _roll_back(self) -> None:
        self._transactions.undo()
        # SQLite has often done it by itself when a disk is full.
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _checkpoint_if_long(self) -> None:
        # Between groups, after the results are released, so that no caller waits for it.
        self._commits += 1
        if self._commits >= CHECKPOINT_COMMITS or self._db.total_changes - self._copied >= CHECKPOINT_CHANGES:
            self._checkpoint()

    def _checkpoint(self) -> None:
        # PASSIVE neither waits nor truncates: the file is written over from its start, which is the fast way.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._commits, self._copied = 0, self._db.total_changes

    def _release(self, log: list[Logged], results: list[Result]) -> None:
        self._call(self._announce, log, results)

    def _announce(self, log: list[Logged], results: list[Result]) -> None:
        if not log:
            release(results)
            return
        self._publish(log)
        # One turn of the loop later: waiting agents are woken first, and no reply to a writer is made before that.
        self._loop.call_soon(release, results)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        # A closed loop has no callers left; what is committed stays committed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)


def _settle_stopped(stopped: asyncio.Future[None]) -> None:
    if not stopped.done():
        stopped.set_result(None)
