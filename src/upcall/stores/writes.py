"""The statements that change a SQLite database, each run inside a transaction that somebody else commits."""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from upcall.domain import lifecycle, refs
from upcall.domain.inquiry import Happening, Inquiry
from upcall.domain.roles import Token
from upcall.ports import Added, Decide, Event, Updated
from upcall.stores import codec
from upcall.stores.lengths import RefLengths
from upcall.stores.reads import last_seq, locate
from upcall.stores.tail import EVENT_WEIGHT, Logged

DAY = 86400
MAX_RECENT, MAX_RECENT_SIZE = 2048, 8192
"""How many inquiries are remembered to save reading them, and how big the body of one may be."""

# What is put into these statements is a constant of ours; values are always bound.
_SAME_REQUEST = f"""
    SELECT {codec.COLUMNS} FROM inquiry INDEXED BY inquiry_request
    WHERE session = ? AND purpose = ? AND request_key = ? AND agent = ? ORDER BY number DESC LIMIT 1
"""  # noqa: S608 - our own constant; values are bound
# Adds nothing if the ref is an open inquiry's, or that of one closed not long enough ago.
_INSERT = f"""
    INSERT INTO inquiry ({codec.COLUMNS}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    WHERE NOT EXISTS (SELECT 1 FROM inquiry WHERE ref = ? AND (closed_at IS NULL OR closed_at > ?))
"""  # noqa: S608 - our own constant; values are bound
# What identifies an inquiry (id, ref, kind, origin) never changes, so its indexes need not be touched.
_UPDATE = "UPDATE inquiry SET state = ?, expires_at = ?, closed_at = ?, body = ? WHERE number = ?"
_ATTACH = "INSERT INTO attachment (inquiry, position, content) VALUES (?, ?, ?)"
_APPEND = "INSERT INTO event (seq, type, inquiry, at, data) VALUES (?, ?, ?, ?, ?)"


class Recent:
    """The inquiries that were written last, as they are now in the database, by id."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, tuple[int, Inquiry]] = OrderedDict()

    def get(self, name: str) -> tuple[int, Inquiry] | None:
        """An inquiry and its number, if it is remembered."""
        return self._entries.get(name)

    def remember(self, number: int, inquiry: Inquiry, size: int) -> None:
        """Keep an inquiry at hand, unless it is a big one."""
        self._entries.pop(inquiry.id, None)
        if size <= MAX_RECENT_SIZE:
            self._entries[inquiry.id] = (number, inquiry)
            if len(self._entries) > MAX_RECENT:
                self._entries.popitem(last=False)

    def forget(self) -> None:
        """Keep nothing."""
        self._entries.clear()


class Writes:
    """Changes through one connection. Every method writes only after all that can refuse it has been asked.

    Events are numbered at once and written together by `finish`, the last thing before a commit.
    """

    def __init__(self, db: sqlite3.Connection, clock: Callable[[], float], random: Random) -> None:
        self._db = db
        self._clock = clock
        self._random = random
        self._recent = Recent()
        self._version = -1
        self._last_seq = 0
        self._lengths = RefLengths()

    def begin(self) -> None:
        """Take up a transaction that has just begun."""
        self._last_seq = last_seq(self._db)
        version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            # Another connection has written: a restore, or somebody with a SQLite shell.
            self._recent.forget()
            self._version = version

    def finish(self, log: Sequence[Logged]) -> None:
        """Write the events of a transaction that is about to be committed."""
        if log:
            self._db.executemany(_APPEND, [_event_row(entry) for entry in log])

    def undo(self) -> None:
        """Forget a transaction that was rolled back."""
        self._recent.forget()

    def add(self, inquiry: Inquiry, body: str, blobs: Sequence[bytes], log: list[Logged]) -> Added:
        """Keep a new inquiry, or find the one that it asks for again."""
        earlier = self._earlier(inquiry)
        if earlier is not None and lifecycle.rejoins(earlier, inquiry, inquiry.asked_at):
            return Added(inquiry=earlier, created=False)
        number, inquiry = self._insert(inquiry, body)
        for position, content in enumerate(blobs):
            self._db.execute(_ATTACH, (inquiry.id, position, content))
        happening = lifecycle.asked(inquiry).happening
        self._recent.remember(number, inquiry, len(body))
        self._append(happening, codec.dumps(happening.data), inquiry, len(body), log)
        return Added(inquiry=inquiry, created=True)

    def update(self, name: str, decide: Decide, log: list[Logged]) -> Updated:
        """Decide on an inquiry as it is in this transaction and apply the step."""
        number, inquiry = self._recent.get(name) or self._locate(name)
        step = decide(inquiry)
        if step is None:
            return Updated(inquiry=inquiry, applied=False)
        after = step.inquiry
        body, data = codec.body(after), codec.dumps(step.happening.data)
        changed = (after.state_name, after.expires_at, codec.closed_at(after), body, number)
        self._db.execute(_UPDATE, changed)
        self._recent.remember(number, after, len(body))
        self._append(step.happening, data, after, len(body), log)
        return Updated(inquiry=after, applied=True)

    def record(self, happening: Happening, log: list[Logged]) -> Event:
        """Write an event about no inquiry."""
        return self._append(happening, codec.dumps(happening.data), None, 0, log)

    def put_token(self, token: Token) -> None:
        """Keep a token."""
        self._db.execute(
            "INSERT OR REPLACE INTO token (name, role, digest, created_at) VALUES (?, ?, ?, ?)",
            (token.name, token.role.value, token.digest, token.created_at),
        )

    def drop_token(self, name: str) -> bool:
        """Forget a token."""
        return self._db.execute("DELETE FROM token WHERE name = ?", (name,)).rowcount > 0

    def _append(
        self, happening: Happening, data: str, subject: Inquiry | None, size: int, log: list[Logged]
    ) -> Event:
        event = Event(
            seq=self._last_seq + len(log) + 1,
            type=happening.type,
            inquiry=None if subject is None else subject.id,
            at=happening.at,
            data=happening.data,
            subject=subject,
        )
        log.append(Logged(event, data, EVENT_WEIGHT + len(data) + size))
        return event

    def _locate(self, name: str) -> tuple[int, Inquiry]:
        row = locate(self._db, name)
        return row[0], codec.decode(row[1:])

    def _earlier(self, inquiry: Inquiry) -> Inquiry | None:
        origin = inquiry.origin
        if origin.request_key is None:
            return None
        key = (origin.session, origin.purpose, origin.request_key, origin.agent)
        row = self._db.execute(_SAME_REQUEST, key).fetchone()
        return None if row is None else codec.decode(row)

    def _insert(self, inquiry: Inquiry, body: str) -> tuple[int, Inquiry]:
        now = self._clock()
        rested = now - refs.REF_REST_DAYS * DAY
        for ref in refs.candidates(self._random, start=self._lengths.start(now)):
            named = replace(inquiry, ref=ref)
            done = self._db.execute(_INSERT, (*codec.row(named, body), ref, rested))
            if done.rowcount:
                assert done.lastrowid is not None
                self._lengths.used(ref)
                return done.lastrowid, named
        raise AssertionError  # pragma: no cover - there is always another candidate


def _event_row(entry: Logged) -> tuple[object, ...]:
    event = entry.event
    return (event.seq, event.type, event.inquiry, event.at, entry.data)
