"""A connection that sends several statements in one go.

psycopg's own pipeline turns to the socket after every statement, which took longer than the server's work on it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, LiteralString, NamedTuple

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import tuple_row
from psycopg.waiting import Ready, Wait

Statement = tuple[LiteralString, Sequence[Any]]
"""A statement with %s in it, and the values for these."""
_Shape = tuple[bytes, tuple[int, ...]]
"""A statement and the types of its values."""


class _Worded(NamedTuple):
    sql: bytes
    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[Format] | None


class Result(NamedTuple):
    """The rows that a statement found, and how many it concerned."""

    rows: list[tuple[Any, ...]]
    concerned: int


class News(NamedTuple):
    """A notification: which process of the server was told it, and what."""

    process: int
    text: str


class Connection(AsyncConnection[tuple[Any, ...]]):
    """One session at the server; what it sends in one go is prepared there unless sessions are shared."""

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn, tuple_row)
        self._values = Transformer(self)
        self._names: dict[_Shape, bytes] = {}
        self._numbers = count()

    async def in_one_go(self, statements: Sequence[Statement]) -> list[Result]:
        """Execute statements one after the other until one fails, in one round trip.

        Raises:
            Error: the first failure. Nothing after it was executed.
        """
        # All of it is put into words before the first is sent: what cannot be is refused with nothing under way.
        worded = [self._worded(*statement) for statement in statements]
        new: dict[_Shape, bytes] = {}
        async with self.lock:
            self.pgconn.enter_pipeline_mode()
            try:
                wanted = [part for each in worded for part in self._send(each, new)]
                self.pgconn.pipeline_sync()
                results = await self.wait(_exchanged(self.pgconn))
            finally:
                if self.pgconn.status == ConnStatus.OK:
                    self.pgconn.exit_pipeline_mode()
        self._names.update(new)
        return [self._read(result) for result, is_wanted in zip(results, wanted, strict=True) if is_wanted]

    def told(self) -> list[News]:
        """The notifications that have arrived.

        Raises:
            Error: if the connection is lost.
        """
        self.pgconn.consume_input()
        found: list[News] = []
        while (notified := self.pgconn.notifies()) is not None:
            found.append(News(notified.be_pid, notified.extra.decode()))
        return found

    def _worded(self, sql: LiteralString, values: Sequence[Any]) -> _Worded:
        dumped = self._values.dump_sequence(values, [PyFormat.BINARY] * len(values))
        return _Worded(_numbered(sql), dumped, self._values.types or (), self._values.formats)

    def _send(self, worded: _Worded, new: dict[_Shape, bytes]) -> tuple[bool, ...]:
        """Queue a statement; tells of each result that comes of it whether it is the statement's own."""
        sql, values, types, formats = worded
        # A statement without values (BEGIN, COMMIT) is understood as quickly as a name for it.
        if self.prepare_threshold is None or not values:
            self.pgconn.send_query_params(sql, values, types, formats)
            return (True,)
        name = self._names.get((sql, types)) or new.get((sql, types))
        if name is not None:
            self.pgconn.send_query_prepared(name, values, formats)
            return (True,)
        # Never a name that was used before: it may exist on the server although its statement failed.
        name = new[sql, types] = b"upcall_%d" % next(self._numbers)
        self.pgconn.send_prepare(name, sql, types)
        self.pgconn.send_query_prepared(name, values, formats)
        return (False, True)

    def _read(self, result: PGresult) -> Result:
        self._values.set_pgresult(result)
        rows: list[tuple[Any, ...]] = self._values.load_rows(0, result.ntuples, tuple)
        return Result(rows, result.command_tuples or 0)


@lru_cache(maxsize=256)
def _numbered(sql: LiteralString) -> bytes:
    numbers = count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", sql).encode()


def _exchanged(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """Send what was queued and fetch what comes back, one result for each statement executed."""
    results: list[PGresult] = []
    try:
        while pgconn.flush():
            # The server may be waiting for us to read before it reads on.
            if (yield Wait.RW) & Ready.R:
                pgconn.consume_input()
        while True:
            while pgconn.is_busy():
                yield Wait.R
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                if pgconn.status != ConnStatus.OK:
                    raise OperationalError("the connection was lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                break
            else:
                results.append(result)
    except Error as lost:
        # Why the server ended the session is worth more than that it did.
        raise _failure(results) or lost from None
    failure = _failure(results)
    if failure is not None:
        raise failure
    return results


def _failure(results: Sequence[PGresult]) -> Error | None:
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            return error_from_result(result)
    return None
