"""The rows of a transaction, staged in memory until its end and then written with a handful of statements."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from upcall.domain.inquiry.inquiry import ANSWER_FILES, Inquiry, Origin
from upcall.domain.thread.thread import ITEM
from upcall.stores import codec
from upcall.stores.sqlite.rows import Row, write
from upcall.stores.sqlite.staged_ledger import StagedLedger
from upcall.stores.tail import Logged

Request = tuple[str, str, str, str]
"""By what a request is recognised when it comes again: session, purpose, key and agent."""

# What is put into these statements is a constant of ours; values are always bound.
_INSERT = f"INSERT INTO inquiry (number, {codec.COLUMNS}) VALUES {{rows}}"  # noqa: S608
# What identifies an inquiry (id, ref, kind, origin) and what it asks never change: only the rest is written again.
_UPDATE = """
    UPDATE inquiry SET state = column2, expires_at = column3, closed_at = column4, outcome = column5
    FROM (VALUES {rows}) WHERE number = column1
"""
_APPEND = "INSERT INTO event (seq, type, inquiry, at, data) VALUES {rows}"
_LIST = "INSERT INTO thread_item (seq, thread) VALUES {rows}"
# An answer that was undone may have left files where the next one has its own.
_ATTACH = "INSERT OR REPLACE INTO attachment (inquiry, position, content) VALUES (?, ?, ?)"


class Kept(NamedTuple):
    """An inquiry, its number and about how long its text is."""

    number: int
    inquiry: Inquiry
    size: int


class Staged:
    """New and changed inquiries and the `ledger`, as the rest of their transaction has to see them."""

    def __init__(self) -> None:
        self._by_id: dict[str, Kept] = {}
        self._by_ref: dict[str, str] = {}
        self._by_request: dict[Request, str] = {}
        self._new: list[Row] = []
        self._changed: dict[int, Row] = {}
        self._files: list[Row] = []
        self.ledger = StagedLedger()

    def add(self, kept: Kept, row: Row, blobs: Sequence[bytes]) -> None:
        """Stage a new inquiry."""
        inquiry = kept.inquiry
        self._by_id[inquiry.id] = kept
        self._by_ref[inquiry.ref] = inquiry.id
        request = request_of(inquiry.origin)
        if request is not None:
            self._by_request[request] = inquiry.id
        self._new.append((kept.number, *row))
        self._files += [(inquiry.id, position, content) for position, content in enumerate(blobs)]

    def change(self, kept: Kept, columns: Row, blobs: Sequence[bytes] = ()) -> None:
        """Stage the new state of an inquiry, with the files of its answer; of several steps the last one counts."""
        self._by_id[kept.inquiry.id] = kept
        self._files += [(kept.inquiry.id, at, content) for at, content in enumerate(blobs, ANSWER_FILES)]
        self._changed[kept.number] = (kept.number, *columns)

    def get(self, name: str) -> Kept | None:
        """The inquiry with this id, or the new one with this ref."""
        return self._by_id.get(name) or self._by_id.get(self._by_ref.get(name, ""))

    def requested(self, request: Request) -> Inquiry | None:
        """The latest new inquiry of a request."""
        name = self._by_request.get(request)
        return None if name is None else self._by_id[name].inquiry

    def write(self, db: sqlite3.Connection, log: Sequence[Logged]) -> None:
        """Write everything, with these events."""
        write(db, _INSERT, self._new)
        write(db, _UPDATE, list(self._changed.values()))
        if self._files:
            db.executemany(_ATTACH, self._files)
        self.ledger.write(db)
        write(db, _APPEND, [(event.seq, event.type, event.inquiry, event.at, data) for event, data, _ in log])
        write(
            db, _LIST, [(event.seq, str(event.data["thread"])) for event, _, _ in log if event.type == ITEM]
        )


def request_of(origin: Origin) -> Request | None:
    """The request key with its scope; None if there is none."""
    if origin.request_key is None:
        return None
    return origin.session, origin.purpose, origin.request_key, origin.agent
