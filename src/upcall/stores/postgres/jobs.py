"""What the database does by itself in a transaction that holds the lock already: about jobs, and about old age."""

from collections.abc import Sequence
from typing import Any

from upcall.domain.delivery import BY_STATE, WAITING
from upcall.stores.postgres.book import JOB, job_in
from upcall.stores.postgres.link import Connection, Cursor
from upcall.stores.postgres.rows import columns, keep
from upcall.stores.postgres.work import Claiming, Hastening, Outright, Pruning, Renewing, Settling

# What is put into these statements is a constant of ours; values are always bound.
CLAIM = f"""
    WITH available AS (
        SELECT id, due FROM upcall.job WHERE kind = ANY(%s::text[]) AND due <= %s AND runner = ANY(%s::text[])
        ORDER BY due, id LIMIT %s FOR UPDATE SKIP LOCKED
    )
    UPDATE upcall.job SET due = %s, fence = nextval('upcall.fence') FROM available WHERE job.id = available.id
    RETURNING available.due, {", ".join(f"job.{column}" for column in JOB.split(", "))}
"""  # noqa: S608 - our own constant; values are bound
_RENEW = "UPDATE upcall.job SET due = %s WHERE id = %s AND fence = %s"
_HASTEN = "UPDATE upcall.job SET due = least(due, %s) WHERE kind = %s AND subject = %s"
_TAKE = """
    DELETE FROM upcall.job USING unnest(%s::text[], %s::bigint[]) AS held (id, fence)
    WHERE job.id = held.id AND job.fence = held.fence RETURNING job.id, job.fence
"""
_FORGET = """
    WITH old AS (SELECT id FROM upcall.inquiry WHERE closed_at < %s ORDER BY closed_at LIMIT %s),
         files AS (DELETE FROM upcall.attachment USING old WHERE attachment.inquiry = old.id),
         shown AS (
             DELETE FROM upcall.record USING old WHERE record.kind = ANY (%s::text[]) AND record.state = old.id
         ),
         waiting AS (
             DELETE FROM upcall.record USING old
             WHERE record.kind = %s AND record.key BETWEEN old.id || ':' AND old.id || ';'
         )
    DELETE FROM upcall.inquiry USING old WHERE inquiry.id = old.id
"""
# Up to the first that is young, so that no gap is left in the middle; of those looked at, the last stays.
_PRUNE = """
    DELETE FROM upcall.event WHERE seq < (
        SELECT coalesce(min(seq) FILTER (WHERE at >= %s), max(seq))
        FROM (SELECT seq, at FROM upcall.event ORDER BY seq LIMIT %s) AS oldest
    )
"""


class Sent:
    """Statements that are under way: sent in one go with others, and read when all have been answered."""

    def __init__(self) -> None:
        self._counted: list[tuple[Pruning | Hastening | Renewing, Cursor]] = []
        self._claims: dict[Claiming, Cursor] = {}
        self._settling: list[Settling] = []
        self._taken: Cursor | None = None

    async def send(self, connection: Connection, works: Sequence[Outright]) -> None:
        """Have it all done: first what others may then claim, last what removes jobs."""
        for work in works:
            if isinstance(work, Pruning):
                old = (work.before, work.limit, list(BY_STATE), WAITING)
                inquiries = await connection.execute(_FORGET, old)
                events = await connection.execute(_PRUNE, (work.before, work.limit + 1))
                self._counted += [(work, inquiries), (work, events)]
        for work in works:
            if isinstance(work, Hastening):
                values: tuple[Any, ...] = (work.due, keep(work.kind), keep(work.subject))
                self._counted.append((work, await connection.execute(_HASTEN, values)))
        for work in works:
            if isinstance(work, Claiming):
                self._claims[work] = await connection.execute(CLAIM, _claim(work))
        for work in works:
            if isinstance(work, Renewing):
                values = (work.until, keep(work.job.id), work.job.fence)
                self._counted.append((work, await connection.execute(_RENEW, values)))
        self._settling = [work for work in works if isinstance(work, Settling)]
        if self._settling:
            held = [(keep(work.job.id), work.job.fence) for work in self._settling]
            self._taken = await connection.execute(_TAKE, columns(held))

    async def results(self) -> dict[Outright, Any]:
        """What became of each."""
        made: dict[Outright, Any] = {}
        for counted, cursor in self._counted:
            made[counted] = made.get(counted, 0) + cursor.rowcount
        for claim, cursor in self._claims.items():
            rows = sorted(await cursor.fetchall(), key=lambda row: (row[0], row[1]))
            made[claim] = [job_in(row[1:]) for row in rows]
        taken = set() if self._taken is None else set(await self._taken.fetchall())
        for work in self._settling:
            held = keep(work.job.id), work.job.fence
            made[work] = held in taken
            # Of two who settle the same job, the first did.
            taken.discard(held)
        return made


def _claim(work: Claiming) -> tuple[Any, ...]:
    kinds, runners = [keep(kind) for kind in work.kinds], ["", keep(work.runner)]
    return kinds, work.now, runners, max(work.limit, 0), work.now + work.lease
