"""The writes of a SQLite store, inside a transaction that the writer begins and commits."""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple, TypeVar

from upcall.domain.channel.delivery import BY_STATE, WAITING
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects, Happening, Job, Record
from upcall.domain.roles import Token
from upcall.ports.store import Added, Decide, Event, Revise, Updated
from upcall.stores import codec
from upcall.stores.several import update_all
from upcall.stores.sqlite import ledger
from upcall.stores.sqlite.free_refs import FreeRefs
from upcall.stores.sqlite.reads import SAME_REQUEST, last_number, last_seq, locate
from upcall.stores.sqlite.staged import Kept, Staged, request_of
from upcall.stores.tail import EVENT_WEIGHT, Logged

T = TypeVar("T")

MAX_RECENT, MAX_RECENT_SIZE = 2048, 8192
"""The number of inquiries that are cached, and the size of the largest body among them."""

_OLD = "SELECT id FROM inquiry INDEXED BY inquiry_closed WHERE closed_at < ? ORDER BY closed_at LIMIT ?"
# One nameless placeholder: from Python 3.12 on, `?1` is a named one, and given a tuple no longer fits.
_FORGET_WAITING = f"""
    WITH gone(id) AS (VALUES (?)) DELETE FROM record
    WHERE kind = '{WAITING}' AND key BETWEEN (SELECT id || ':' FROM gone) AND (SELECT id || ';' FROM gone)
"""  # noqa: S608 - our own constant; values are bound
_FORGET = (
    *(f"DELETE FROM record WHERE kind = '{kind}' AND state = ?" for kind in BY_STATE),  # noqa: S608 - our own constants
    _FORGET_WAITING,
    "DELETE FROM attachment WHERE inquiry = ?",
    "DELETE FROM inquiry_words WHERE rowid = (SELECT number FROM inquiry WHERE id = ?)",
    "DELETE FROM inquiry WHERE id = ?",
)
# Up to the first that is young, so that no gap is left in the middle; of those looked at, the last stays.
_PRUNE = """
    DELETE FROM event WHERE seq < (
        SELECT coalesce(min(seq) FILTER (WHERE at >= ?), max(seq))
        FROM (SELECT seq, at FROM event ORDER BY seq LIMIT ?)
    )
"""

_UNKNOWN = -1


class Recent:
    """The inquiries that were written last, as they are now in the database, by id."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Kept] = OrderedDict()

    def get(self, name: str) -> Kept | None:
        """An inquiry, if it is remembered."""
        return self._entries.get(name)

    def remember(self, kept: Kept) -> None:
        """Keep an inquiry at hand, unless it is a big one."""
        name = kept.inquiry.id
        self._entries.pop(name, None)
        if kept.size <= MAX_RECENT_SIZE:
            self._entries[name] = kept
            if len(self._entries) > MAX_RECENT:
                self._entries.popitem(last=False)

    def forget(self) -> None:
        """Keep nothing."""
        self._entries.clear()


class _Step(NamedTuple):
    """An inquiry after a decision, and what is to be written of that; None if nothing is."""

    kept: Kept
    written: tuple[codec.StateColumns, ledger.Prepared, Happening, str] | None = None
    blobs: tuple[bytes, ...] = ()


class Writes:
    """Changes through one connection, and what they are decided on.

    Inquiries and events are numbered at once and written together by `finish`, the last thing before a commit.
    """

    def __init__(self, db: sqlite3.Connection, clock: Callable[[], float], random: Random) -> None:
        self._db = db
        self._refs = FreeRefs(db, clock, random)
        self._recent = Recent()
        self._staged = Staged()
        self._version = _UNKNOWN
        self._last_seq = 0
        self._last_number = 0

    def begin(self) -> None:
        """Prepare for a transaction that has just begun."""
        self._staged = Staged()
        version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            # Another connection has written: a restore, or a person with a SQLite shell.
            self._version = version
            self._recent.forget()
            self._refs.forget()
            self._last_seq, self._last_number = last_seq(self._db), last_number(self._db)

    def finish(self, log: Sequence[Logged]) -> None:
        """Write what was decided in a transaction that is about to be committed."""
        self._staged.write(self._db, log)

    def undo(self) -> None:
        """Forget a transaction that was rolled back, and every number that it took."""
        self._version = _UNKNOWN

    def add(
        self, inquiry: Inquiry, body: str, blobs: Sequence[bytes], effects: Effects, log: list[Logged]
    ) -> Added:
        """Keep a new inquiry, or find the one that it asks for again."""
        earlier = self._earlier(inquiry)
        if earlier is not None and lifecycle.rejoins(earlier, inquiry, inquiry.asked_at):
            return Added(inquiry=earlier, created=False)
        inquiry = replace(inquiry, ref=self._refs.take(self._staged))
        self._last_number += 1
        kept = Kept(self._last_number, inquiry, len(body))
        row = codec.row(inquiry, body)
        prepared = ledger.prepared(effects)
        logged = self._logged(lifecycle.asked(inquiry).happening, inquiry, kept.size)
        self._staged.add(kept, row, blobs)
        self._recent.remember(kept)
        log.append(logged)
        self._write(prepared, log)
        return Added(inquiry=inquiry, created=True)

    def update(self, name: str, decide: Decide, log: list[Logged]) -> Updated:
        """Decide on an inquiry as it is in this transaction and apply the step."""
        return self._apply(self._step(self._kept(name), decide), log)

    def update_all(
        self, names: Sequence[str], decide: Decide, log: list[Logged]
    ) -> list[Updated | UpcallError]:
        """Decide on several, and apply the steps."""
        return update_all(
            names, self._kept, lambda kept: self._step(kept, decide), lambda step: self._apply(step, log)
        )

    def _kept(self, name: str) -> Kept:
        return self._staged.get(name) or self._recent.get(name) or self._locate(name)

    def _step(self, kept: Kept, decide: Decide) -> _Step:
        """What is to be written of a decision; everything that can refuse it is asked here."""
        step = decide(kept.inquiry)
        if step is None:
            return _Step(kept)
        columns = codec.state_columns(step.inquiry)
        kept = Kept(kept.number, step.inquiry, kept.size + len(columns.text or ""))
        written = (columns, ledger.prepared(step.effects), step.happening, codec.dumps(step.happening.data))
        return _Step(kept, written, step.blobs)

    def _apply(self, step: _Step, log: list[Logged]) -> Updated:
        kept = step.kept
        if step.written is None:
            return Updated(inquiry=kept.inquiry, applied=False)
        columns, prepared, happening, data = step.written
        self._staged.change(kept, columns, step.blobs)
        self._recent.remember(kept)
        log.append(self._numbered(happening, data, kept.inquiry, kept.size))
        self._write(prepared, log)
        return Updated(inquiry=kept.inquiry, applied=True)

    def record(self, happening: Happening, log: list[Logged]) -> Event:
        """Write an event about no inquiry."""
        logged = self._logged(happening, None, 0)
        log.append(logged)
        return logged.event

    def revise(self, kind: str, key: str, decide: Revise, log: list[Logged]) -> Record | None:
        """Decide on a record as it is and write what follows."""
        found = self._staged.ledger.look_up(self._db, kind, key)
        effects = decide(found)
        if effects is None:
            return found
        self._write(ledger.prepared(effects), log)
        return self._staged.ledger.look_up(self._db, kind, key)

    def settle(self, job: Job, effects: Effects, log: list[Logged]) -> bool:
        """Settle a job that is still held, and write the effects."""
        prepared = ledger.prepared(effects)
        self._staged.ledger.write(self._db)
        held = ledger.take(self._db, job)
        if held:
            self._write(prepared, log)
        return held

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a write without events, which reads and writes records and jobs in the database itself."""
        self._staged.ledger.write(self._db)
        return work(self._db)

    def prune(self, before: float, limit: int) -> tuple[list[str], int]:
        """Forget what is old: the ids of the inquiries, and how many events."""
        self._staged.ledger.write(self._db)
        names = [name for (name,) in self._db.execute(_OLD, (before, limit))]
        for sql in _FORGET:
            self._db.executemany(sql, [(name,) for name in names])
        if names:
            self._recent.forget()
        pruned = self._db.execute(_PRUNE, (before, limit + 1)).rowcount
        self._db.execute("DELETE FROM thread_item WHERE seq < (SELECT min(seq) FROM event)")
        return names, pruned

    def put_token(self, token: Token) -> None:
        """Keep a token."""
        self._db.execute(
            "INSERT OR REPLACE INTO token (name, role, digest, created_at) VALUES (?, ?, ?, ?)",
            (token.name, token.role.value, token.digest, token.created_at),
        )

    def drop_token(self, name: str) -> bool:
        """Forget a token."""
        return self._db.execute("DELETE FROM token WHERE name = ?", (name,)).rowcount > 0

    def _write(self, prepared: ledger.Prepared, log: list[Logged]) -> None:
        self._staged.ledger.add(prepared)
        log += [self._numbered(happening, data, None, 0) for happening, data in prepared.happenings]

    def _logged(self, happening: Happening, subject: Inquiry | None, size: int) -> Logged:
        return self._numbered(happening, codec.dumps(happening.data), subject, size)

    def _numbered(self, happening: Happening, data: str, subject: Inquiry | None, size: int) -> Logged:
        self._last_seq += 1
        event = Event(
            seq=self._last_seq,
            type=happening.type,
            inquiry=happening.inquiry if subject is None else subject.id,
            at=happening.at,
            data=happening.data,
            subject=subject,
        )
        return Logged(event, data, EVENT_WEIGHT + len(data) + size)

    def _locate(self, name: str) -> Kept:
        row = locate(self._db, name)
        inquiry = codec.decode(row[1:])
        # A ref may have led to one that is not in the database as it is now.
        return self._staged.get(inquiry.id) or Kept(row[0], inquiry, len(row[-1]))

    def _earlier(self, inquiry: Inquiry) -> Inquiry | None:
        request = request_of(inquiry.origin)
        if request is None:
            return None
        earlier = self._staged.requested(request)
        if earlier is not None:
            return earlier
        row = self._db.execute(SAME_REQUEST, request).fetchone()
        if row is None:
            return None
        found = codec.decode(row)
        kept = self._staged.get(found.id)
        return found if kept is None else kept.inquiry
