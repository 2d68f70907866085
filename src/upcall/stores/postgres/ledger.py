"""Reads of records and jobs, outside of transactions."""

from collections.abc import Sequence
from typing import Any

from upcall.domain.errors import InvalidRequest
from upcall.domain.records import Job, Record
from upcall.ports.store import Records
from upcall.stores.damage import readable
from upcall.stores.postgres.reads import Reads
from upcall.stores.postgres.rows import MOST, keep, plain
from upcall.stores.postgres.staged_ledger import JOB, RECORD, job_in, record_in
from upcall.stores.sqlite.ledger import page, position

# What is put into these statements is a constant of ours; values are always bound.
LOOK_UP = f"SELECT {RECORD} FROM upcall.record WHERE kind = %s AND key = %s"  # noqa: S608 - see above
ABOUT = f"SELECT {JOB} FROM upcall.job WHERE kind = %s AND subject = %s ORDER BY due, id"  # noqa: S608 - see above
# The first of each kind is the first entry of its index.
NEXT_DUE = """
    SELECT min(soonest.due) FROM unnest(%s::text[]) AS wanted (kind)
    CROSS JOIN LATERAL (
        SELECT due FROM upcall.job WHERE kind = wanted.kind AND runner = ANY(%s::text[]) ORDER BY due LIMIT 1
    ) AS soonest
"""

COUNT = "SELECT kind, count(*) FROM upcall.job GROUP BY kind"


async def look_up(reads: Reads, kind: str, key: str) -> Record | None:
    """One record."""
    rows = await reads.rows(LOOK_UP, (keep(kind), keep(key)))
    return record_in(rows[0]) if rows else None


async def records(reads: Reads, kind: str, state: str | None, cursor: str | None, limit: int) -> Records:
    """A page of records, the newest first."""
    sql, values = listing(kind, state, cursor, limit)
    return page(await reads.rows(sql, values), limit, record_in, plain)


async def jobs(reads: Reads, kind: str, subject: str) -> list[Job]:
    """The jobs about a subject."""
    return readable(await reads.rows(ABOUT, (keep(kind), keep(subject))), job_in)


async def next_due(reads: Reads, kinds: Sequence[str], runner: str) -> float | None:
    """When there is the next job to claim."""
    ((due,),) = await reads.rows(NEXT_DUE, ([keep(kind) for kind in kinds], ["", keep(runner)]))
    return None if due is None else float(due)


async def count_jobs(reads: Reads) -> dict[str, int]:
    """How many jobs there are of each kind."""
    return {str(plain(kind)): int(count) for kind, count in await reads.rows(COUNT, ())}


def listing(kind: str, state: str | None, cursor: str | None, limit: int) -> tuple[bytes, list[Any]]:
    """The SQL and the values of a page; one row more than asked for tells whether there is a next one.

    Raises:
        InvalidRequest: if the limit or the cursor is not one.
    """
    if limit < 1:
        raise InvalidRequest(f"limit {limit!r} is not a positive number")
    where, values = "kind = %s", list[Any]([keep(kind)])
    if state is not None:
        where, values = f"{where} AND state = %s", [*values, keep(state)]
    if cursor is not None:
        at, key = position(cursor)
        where, values = f"{where} AND (at, key) < (%s, %s)", [*values, at, keep(key)]
    sql = f"SELECT {RECORD} FROM upcall.record WHERE {where} ORDER BY at DESC, key DESC LIMIT %s"  # noqa: S608 - see above
    return sql.encode(), [*values, min(limit + 1, MOST)]
