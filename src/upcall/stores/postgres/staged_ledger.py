"""The records and jobs of one transaction, staged in memory: what was read, what was decided since, and the statements that write it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from upcall.domain.errors import DamagedRow, InvalidRequest
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.stores import codec
from upcall.stores.postgres.connection import Statement
from upcall.stores.postgres.rows import columns, is_text, keep, plain

RECORD = "kind, key, state, at, body"
JOB = "id, kind, subject, due, runner, attempts, fence, body"

_KEEP = """
    INSERT INTO upcall.record (kind, key, state, at, body)
    SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::float8[], %s::text[])
    ON CONFLICT (kind, key) DO UPDATE SET state = EXCLUDED.state, at = EXCLUDED.at, body = EXCLUDED.body
"""
_FORGET = """
    DELETE FROM upcall.record USING unnest(%s::text[], %s::text[]) AS gone (kind, key)
    WHERE record.kind = gone.kind AND record.key = gone.key
"""
# A job that replaces another has a new fence, so the holder of the old one has lost its claim.
_PUT = """
    INSERT INTO upcall.job (id, kind, subject, due, runner, attempts, body, fence)
    SELECT *, nextval('upcall.fence')
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::float8[], %s::text[], %s::bigint[], %s::text[])
    ON CONFLICT (id) DO UPDATE SET
        kind = EXCLUDED.kind, subject = EXCLUDED.subject, due = EXCLUDED.due, runner = EXCLUDED.runner,
        attempts = EXCLUDED.attempts, body = EXCLUDED.body, fence = EXCLUDED.fence, holder = ''
"""
_DROP = "DELETE FROM upcall.job WHERE id = ANY(%s::text[])"


class Kept(NamedTuple):
    """A record and the text of its body."""

    record: Record
    body: str


class Prepared(NamedTuple):
    """Effects in the form in which they are written; only making it can fail."""

    records: Sequence[Kept]
    forgotten: Sequence[tuple[str, str]]
    happenings: Sequence[tuple[Happening, str]]
    jobs: Sequence[tuple[Job, str]]
    dropped: Sequence[str]


def prepared(effects: Effects) -> Prepared:
    """The prepared form of effects.

    Raises:
        InvalidRequest: if a database could not keep a name among them.
    """
    for record in effects.records:
        refuse_broken_text(record.kind, record.key, record.state)
    for job in effects.jobs:
        refuse_broken_text(job.id, job.kind, job.subject, job.runner)
    for name in effects.forgotten:
        refuse_broken_text(*name)
    refuse_broken_text(*effects.dropped)
    return Prepared(
        records=[Kept(each, codec.dumps(each.body)) for each in effects.records],
        forgotten=effects.forgotten,
        happenings=[(each, codec.dumps(each.data)) for each in effects.happenings],
        jobs=[(each, codec.dumps(each.body)) for each in effects.jobs],
        dropped=effects.dropped,
    )


def refuse_broken_text(*texts: str) -> None:
    """Make sure that names can be kept.

    Raises:
        InvalidRequest: if one of them is not text.
    """
    for text in texts:
        if not is_text(text):
            raise InvalidRequest(f"{text!r} is not text")


class StagedLedger:
    """One transaction's records and jobs. `rows` are the records that it decides on."""

    def __init__(self, rows: Iterable[Sequence[Any]] = ()) -> None:
        self._records: dict[tuple[str, str], Record | DamagedRow] = {
            (plain(row[0]), plain(row[1])): _record_or_damage(row) for row in rows
        }
        self._written: dict[tuple[str, str], Kept | None] = {}
        self._jobs: dict[str, tuple[Job, str] | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._written or self._jobs)

    def look_up(self, kind: str, key: str) -> Record | None:
        """A record that was asked for at the beginning, as it is now.

        Raises:
            DamagedRow: if its row cannot be read.
        """
        if (kind, key) not in self._written:
            found = self._records.get((kind, key))
            if isinstance(found, DamagedRow):
                raise found
            return found
        kept = self._written[kind, key]
        # As a later reader sees it: JSON has lists for tuples, and texts for keys.
        return None if kept is None else replace(kept.record, body=codec.loads(kept.body))

    def write(self, effects: Prepared) -> None:
        """Stage effects; the last one about a record or job counts."""
        self._written.update(dict.fromkeys(effects.forgotten))
        self._written.update({(kept.record.kind, kept.record.key): kept for kept in effects.records})
        self._jobs.update(dict.fromkeys(effects.dropped))
        self._jobs.update({job.id: (job, body) for job, body in effects.jobs})

    def statements(self) -> list[Statement]:
        """The statements that write everything staged."""
        made: list[Statement] = []
        forgotten = [tuple(map(keep, name)) for name, kept in self._written.items() if kept is None]
        if forgotten:
            made.append((_FORGET, columns(forgotten)))
        records = [_record_out(*kept) for kept in self._written.values() if kept is not None]
        if records:
            made.append((_KEEP, columns(records)))
        dropped = [keep(name) for name, job in self._jobs.items() if job is None]
        if dropped:
            made.append((_DROP, (dropped,)))
        jobs = [_job_out(*job) for job in self._jobs.values() if job is not None]
        if jobs:
            made.append((_PUT, columns(jobs)))
        return made


def record_in(row: Sequence[Any]) -> Record:
    """The record in a row of `RECORD`."""
    kind, key, state, at, body = row
    return Record(
        kind=plain(kind),
        key=plain(key),
        state=plain(state),
        at=at,
        body=codec.data_in(body, f"the record {kind}/{key}"),
    )


def _record_or_damage(row: Sequence[Any]) -> Record | DamagedRow:
    try:
        return record_in(row)
    except DamagedRow as problem:
        # It concerns the work on this record alone, and not what is written together with it.
        return problem


def job_in(row: Sequence[Any]) -> Job:
    """The job in a row of `JOB`."""
    name, kind, subject, due, runner, attempts, fence, body = row
    return Job(
        id=plain(name),
        kind=plain(kind),
        subject=plain(subject),
        due=due,
        runner=plain(runner),
        attempts=attempts,
        fence=fence,
        body=codec.data_in(body, f"the job {name}"),
    )


def _record_out(record: Record, body: str) -> list[Any]:
    return [keep(record.kind), keep(record.key), keep(record.state), float(record.at), body]


def _job_out(job: Job, body: str) -> list[Any]:
    runner = keep(job.runner)
    return [keep(job.id), keep(job.kind), keep(job.subject), float(job.due), runner, job.attempts, body]
