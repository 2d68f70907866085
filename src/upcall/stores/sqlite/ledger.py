"""The statements for records and jobs in a SQLite database. What is written counts from the next commit on."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from upcall.domain.errors import InvalidRequest
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.ports.store import Records
from upcall.stores import codec
from upcall.stores.damage import readable
from upcall.stores.sqlite.rows import Row

_RECORD = "kind, key, state, at, body"
_JOB = "id, kind, subject, due, runner, attempts, fence, body"

# What is put into these statements is a constant of ours; values are always bound.
_LOOK_UP = f"SELECT {_RECORD} FROM record WHERE kind = ? AND key = ?"  # noqa: S608 - see above
_NEXT_FENCE = "UPDATE fence SET last = last + 1"
_AVAILABLE = (
    "SELECT id FROM job WHERE kind IN ({kinds}) AND due <= ? AND runner IN ('', ?) ORDER BY due, id LIMIT ?"
)
_CLAIM = f"UPDATE job SET due = ?, holder = ?, fence = (SELECT last FROM fence) WHERE id = ? RETURNING {_JOB}"  # noqa: S608 - see above
_NEXT_DUE = "SELECT min(due) FROM job WHERE kind IN ({kinds}) AND runner IN ('', ?)"
_COUNT = "SELECT kind, count(*) FROM job GROUP BY kind"
_ABOUT = f"SELECT {_JOB} FROM job WHERE kind = ? AND subject = ? ORDER BY due, id"  # noqa: S608 - see above
_HASTEN = "UPDATE job SET due = min(due, ?) WHERE kind = ? AND subject = ?"


def look_up(db: sqlite3.Connection, kind: str, key: str) -> Record | None:
    """One record."""
    row = db.execute(_LOOK_UP, (kind, key)).fetchone()
    return None if row is None else record_in(row)


def records(db: sqlite3.Connection, kind: str, state: str | None, cursor: str | None, limit: int) -> Records:
    """A page of records, the newest first."""
    if limit < 1:
        raise InvalidRequest(f"limit {limit!r} is not a positive number")
    where, values = "kind = ?", list[object]([kind])
    if state is not None:
        where, values = f"{where} AND state = ?", [*values, state]
    if cursor is not None:
        where, values = f"{where} AND (at, key) < (?, ?)", [*values, *position(cursor)]
    sql = f"SELECT {_RECORD} FROM record WHERE {where} ORDER BY at DESC, key DESC LIMIT ?"  # noqa: S608 - see above
    return page(db.execute(sql, (*values, limit + 1)).fetchall(), limit, record_in)


class Prepared(NamedTuple):
    """Effects in the form in which they are written; making it is all that can be refused about them."""

    records: dict[tuple[str, str], Row]
    forgotten: Sequence[tuple[str, str]]
    happenings: list[tuple[Happening, str]]
    jobs: dict[str, Row]
    dropped: Sequence[str]


_NOTHING = Prepared({}, (), [], {}, ())


def prepared(effects: Effects) -> Prepared:
    """The prepared form of effects."""
    if not effects:
        return _NOTHING
    return Prepared(
        records={
            (r.kind, r.key): (r.kind, r.key, r.state, r.at, codec.dumps(r.body)) for r in effects.records
        },
        forgotten=effects.forgotten,
        happenings=[(each, codec.dumps(each.data)) for each in effects.happenings],
        jobs={job.id: _job_out(job) for job in effects.jobs},
        dropped=effects.dropped,
    )


def claim(
    db: sqlite3.Connection,
    holder: str,
    kinds: Sequence[str],
    *,
    runner: str,
    now: float,
    lease: float,
    limit: int,
) -> list[Job]:
    """Claim due jobs for the process `holder`."""
    sql = _AVAILABLE.format(kinds=_marks(kinds))
    available = db.execute(sql, (*kinds, now, runner, limit)).fetchall()
    claimed: list[Sequence[Any]] = []
    for (name,) in available:
        db.execute(_NEXT_FENCE)
        claimed.append(db.execute(_CLAIM, (now + lease, holder, name)).fetchone())
    # One that cannot be read is out of the way of the others until its lease ends.
    return readable(claimed, job_in)


def take(db: sqlite3.Connection, job: Job) -> bool:
    """Remove a claimed job; False if it was lost."""
    return db.execute("DELETE FROM job WHERE id = ? AND fence = ?", (job.id, job.fence)).rowcount > 0


def renew(db: sqlite3.Connection, holder: str, job: Job, until: float) -> bool:
    """Hold a claimed job for longer; False if it was lost."""
    sql = "UPDATE job SET due = ?, holder = ? WHERE id = ? AND fence = ?"
    return db.execute(sql, (until, holder, job.id, job.fence)).rowcount > 0


def release(db: sqlite3.Connection, holder: str, due: float) -> int:
    """End every lease that is not this holder's."""
    sql = "UPDATE job SET due = min(due, ?), holder = '' WHERE holder NOT IN ('', ?)"
    return db.execute(sql, (due, holder)).rowcount


def hasten(db: sqlite3.Connection, kind: str, subject: str, due: float) -> int:
    """Make jobs due no later than that."""
    return db.execute(_HASTEN, (due, kind, subject)).rowcount


def jobs(db: sqlite3.Connection, kind: str, subject: str) -> list[Job]:
    """The jobs about a subject."""
    return readable(db.execute(_ABOUT, (kind, subject)), job_in)


def next_due(db: sqlite3.Connection, kinds: Sequence[str], runner: str) -> float | None:
    """When there is the next job to claim."""
    due: float | None = db.execute(_NEXT_DUE.format(kinds=_marks(kinds)), (*kinds, runner)).fetchone()[0]
    return due


def count_jobs(db: sqlite3.Connection) -> dict[str, int]:
    """How many jobs there are of each kind."""
    return dict(db.execute(_COUNT).fetchall())


def record_in(row: Sequence[Any]) -> Record:
    """The record in a row."""
    kind, key, state, at, body = row
    return Record(
        kind=kind, key=key, state=state, at=at, body=codec.data_in(body, f"the record {kind}/{key}")
    )


def job_in(row: Sequence[Any]) -> Job:
    """The job in a row."""
    name, kind, subject, due, runner, attempts, fence, body = row
    return Job(
        id=name,
        kind=kind,
        subject=subject,
        due=due,
        runner=runner,
        attempts=attempts,
        fence=fence,
        body=codec.data_in(body, f"the job {name}"),
    )


def _job_out(job: Job) -> Row:
    return job.id, job.kind, job.subject, job.due, job.runner, job.attempts, codec.dumps(job.body)


def page(
    rows: Sequence[Sequence[Any]],
    limit: int,
    read: Callable[[Sequence[Any]], Record],
    plain: Callable[[str], str] = str,
) -> Records:
    """A page of the rows that were found, which are one more than wanted where there are more."""
    _, key, _, at, _ = rows[:limit][-1] if rows else ("", "", "", 0.0, "")
    more = json.dumps([at, plain(key)]) if len(rows) > limit else None
    return Records(items=tuple(readable(rows[:limit], read)), next=more)


def position(cursor: str) -> tuple[float, str]:
    """The cursor of a page.

    Raises:
        InvalidRequest: if it is not a cursor.
    """
    try:
        at, key = json.loads(cursor)
        return float(at), str(key)
    except (ValueError, TypeError) as error:
        raise InvalidRequest(
            f"{cursor[:64]!r} is not a cursor of this list", hint="pass on the `next` of its previous page"
        ) from error


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
