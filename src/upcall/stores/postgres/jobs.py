"""Statements that decide by themselves, under the lock of the transaction: claims, leases, retention."""

from collections.abc import Sequence
from typing import Any

from upcall.domain.channel.delivery import BY_STATE, WAITING
from upcall.stores.damage import readable
from upcall.stores.postgres.connection import Result, Statement
from upcall.stores.postgres.rows import columns, keep
from upcall.stores.postgres.staged_ledger import JOB, job_in
from upcall.stores.postgres.work import Claiming, Hastening, Outright, Pruning, Releasing, Renewing, Settling

# What is put into these statements is a constant of ours; values are always bound.
CLAIM = f"""
    WITH available AS (
        SELECT id, due FROM upcall.job WHERE kind = ANY(%s::text[]) AND due <= %s AND runner = ANY(%s::text[])
        ORDER BY due, id LIMIT %s FOR UPDATE SKIP LOCKED
    )
    UPDATE upcall.job SET due = %s, holder = %s, fence = nextval('upcall.fence') FROM available WHERE job.id = available.id
    RETURNING available.due, {", ".join(f"job.{column}" for column in JOB.split(", "))}
"""  # noqa: S608 - our own constant; values are bound
_RENEW = "UPDATE upcall.job SET due = %s, holder = %s WHERE id = %s AND fence = %s"
_HASTEN = "UPDATE upcall.job SET due = least(due, %s) WHERE kind = %s AND subject = %s"
_RELEASE = "UPDATE upcall.job SET due = least(due, %s), holder = '' WHERE holder = %s"
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


class Errands:
    """Statements to be sent in one go with others, and what became of each errand."""

    def __init__(self, works: Sequence[Outright]) -> None:
        # First what others may then claim, last what removes jobs.
        self._sent: list[tuple[Outright, Statement]] = [
            *((work, old) for work in works if isinstance(work, Pruning) for old in _prune(work)),
            *((work, _hasten(work)) for work in works if isinstance(work, Hastening)),
            *((work, _release(work)) for work in works if isinstance(work, Releasing)),
            *((work, _claim(work)) for work in works if isinstance(work, Claiming)),
            *((work, _renew(work)) for work in works if isinstance(work, Renewing)),
        ]
        self.wrote = False
        self._settling = [work for work in works if isinstance(work, Settling)]

    def statements(self) -> list[Statement]:
        """The statements of the work."""
        made = [statement for _, statement in self._sent]
        if self._settling:
            made.append((_TAKE, columns([_held(work) for work in self._settling])))
        return made

    def done(self, results: Sequence[Result]) -> dict[Outright, Any]:
        """The result of each piece of work; `wrote` says afterwards whether any row changed."""
        self.wrote = any(result.rows or result.concerned for result in results)
        made: dict[Outright, Any] = {}
        for (work, _), result in zip(self._sent, results, strict=False):
            if isinstance(work, Claiming):
                rows = sorted(result.rows, key=lambda row: (row[0], row[1]))
                made[work] = readable([row[1:] for row in rows], job_in)
            else:
                made[work] = made.get(work, 0) + result.concerned
        taken = set(results[-1].rows) if self._settling else set()
        for work in self._settling:
            made[work] = _held(work) in taken
            # Of two who settle the same job, the first did.
            taken.discard(_held(work))
        return made


def _prune(work: Pruning) -> list[Statement]:
    return [
        (_FORGET, (work.before, work.limit, list(BY_STATE), WAITING)),
        (_PRUNE, (work.before, work.limit + 1)),
    ]


def _hasten(work: Hastening) -> Statement:
    return _HASTEN, (work.due, keep(work.kind), keep(work.subject))


def _release(work: Releasing) -> Statement:
    return _RELEASE, (work.due, work.holder)


def _claim(work: Claiming) -> Statement:
    kinds, runners = [keep(kind) for kind in work.kinds], ["", keep(work.runner)]
    return CLAIM, (kinds, work.now, runners, max(work.limit, 0), work.now + work.lease, work.holder)


def _renew(work: Renewing) -> Statement:
    return _RENEW, (work.until, work.holder, keep(work.job.id), work.job.fence)


def _held(work: Settling) -> tuple[str, int]:
    return keep(work.job.id), work.job.fence
