"""The records and jobs of one transaction, staged in memory until its end, as the rest of the transaction sees them."""

import sqlite3

from upcall.domain.records import Record
from upcall.stores.sqlite import ledger
from upcall.stores.sqlite.ledger import Prepared
from upcall.stores.sqlite.rows import Row, write

_KEEP = "INSERT OR REPLACE INTO record (kind, key, state, at, body) VALUES {rows}"
_FORGET = "DELETE FROM record WHERE (kind, key) IN (VALUES {rows})"
_FENCES = "UPDATE fence SET last = last + ? RETURNING last"
# A job that replaces another has a new fence, so the holder of the old one has lost its claim.
_PUT = """
    INSERT INTO job (id, kind, subject, due, runner, attempts, body, fence) VALUES {rows}
    ON CONFLICT (id) DO UPDATE SET
        kind = excluded.kind, subject = excluded.subject, due = excluded.due, runner = excluded.runner,
        attempts = excluded.attempts, fence = excluded.fence, body = excluded.body, holder = ''
"""
_DROP = "DELETE FROM job WHERE id IN (VALUES {rows})"


class StagedLedger:
    """One transaction's records and jobs; of several steps about one of them the last one counts."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Row | None] = {}
        self._jobs: dict[str, Row | None] = {}

    def add(self, effects: Prepared) -> None:
        """Stage effects."""
        for name in effects.forgotten:
            self._records[name] = None
        self._records.update(effects.records)
        for job in effects.dropped:
            self._jobs[job] = None
        self._jobs.update(effects.jobs)

    def look_up(self, db: sqlite3.Connection, kind: str, key: str) -> Record | None:
        """A record as it is in this transaction."""
        if (kind, key) not in self._records:
            return ledger.look_up(db, kind, key)
        row = self._records[kind, key]
        return None if row is None else ledger.record_in(row)

    def write(self, db: sqlite3.Connection) -> None:
        """Write what is staged. From then on it is in the database, and no longer here."""
        records, self._records = self._records, {}
        jobs, self._jobs = self._jobs, {}
        if records:
            write(db, _FORGET, [name for name, row in records.items() if row is None])
            write(db, _KEEP, [row for row in records.values() if row is not None])
        if jobs:
            write(db, _DROP, [(name,) for name, row in jobs.items() if row is None])
            _put(db, [row for row in jobs.values() if row is not None])


def _put(db: sqlite3.Connection, jobs: list[Row]) -> None:
    if jobs:
        last: int = db.execute(_FENCES, (len(jobs),)).fetchone()[0]
        write(db, _PUT, [(*job, last - len(jobs) + number) for number, job in enumerate(jobs, 1)])
