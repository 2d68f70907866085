"""Inquiries as rows of PostgreSQL and back: as everywhere, except that a text there cannot hold a NUL character."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString, NamedTuple

from upcall.domain.errors import DamagedRow
from upcall.domain.inquiry import refs
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.stores import codec

_TEXTS = (0, 4, 5, 6, 7)
"""Which of `codec.COLUMNS` hold what callers wrote; JSON escapes what it must by itself."""
_ESCAPED = re.compile("\x01([\x01\x02])")
MOST = 2**63 - 1
"""The largest number that a column holds."""

# What is put into these statements is a constant of ours; values are always bound.
_SELECT = f"SELECT number, {codec.COLUMNS} FROM upcall.inquiry WHERE id = ANY"  # noqa: S608 - see above
LOCATE_IDS = f"{_SELECT}(%s::text[])"
LOCATE = f"""
    {_SELECT}(%s::text[] || ARRAY(
        SELECT DISTINCT ON (ref) id FROM upcall.inquiry WHERE ref = ANY(%s::text[])
        ORDER BY ref, closed_at IS NULL DESC, number DESC
    ))
"""  # noqa: S608 - our own constant; values are bound
"""Rows of inquiries by ids or refs: all of those ids and, of each ref, the one that it names."""


class Row(NamedTuple):
    """An inquiry, its number in the order of asking and about how long its text is."""

    number: int
    inquiry: Inquiry
    size: int


class Found:
    """Rows by what they may be called. One that cannot be read is the trouble of those who ask for it."""

    def __init__(self, rows: Iterable[Sequence[Any]] = ()) -> None:
        self._by_id: dict[str, Row] = {}
        self._by_ref: dict[str, Row] = {}
        self._damaged: dict[str, DamagedRow] = {}
        for values in rows:
            try:
                self.put(Row(values[0], decode(values[1:]), len(values[-1])))
            except DamagedRow as problem:
                # Others were asked for in the same breath, and are not concerned.
                self._damaged |= {plain(values[1]): problem, values[2]: problem}

    def put(self, row: Row) -> None:
        """Add an inquiry as it is now."""
        self._by_id[row.inquiry.id] = row
        known = self._by_ref.get(row.inquiry.ref)
        if known is None or known.number == row.number or _rank(row) > _rank(known):
            self._by_ref[row.inquiry.ref] = row

    def get(self, name: str) -> Row | None:
        """The inquiry with this id, or the open, otherwise the latest, with this ref.

        Raises:
            DamagedRow: if its row cannot be read.
        """
        found = self._by_id.get(name) or self._by_ref.get(name)
        if found is None and name in self._damaged:
            raise self._damaged[name]
        return found


def located(names: Iterable[str]) -> tuple[LiteralString, tuple[list[str], ...]]:
    """The statement that finds inquiries by ids or refs, and its values."""
    kept = [keep(name) for name in names]
    short = [name for name in kept if len(name) <= refs.LONGEST]
    return (LOCATE, (kept, short)) if short else (LOCATE_IDS, (kept,))


def is_text(name: str) -> bool:
    """Whether a name can be kept at all: half a surrogate pair can be sent, but names nothing."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def keep(text: str) -> str:
    """A text as a column can hold it; different texts stay different."""
    if "\0" in text or "\x01" in text:
        return text.replace("\x01", "\x01\x01").replace("\0", "\x01\x02")
    return text


def plain(kept: str) -> str:
    """The text that was kept."""
    return (
        _ESCAPED.sub(lambda found: "\x01" if found[1] == "\x01" else "\0", kept) if "\x01" in kept else kept
    )


def columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows as arrays, one for each column, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)]


def encode(inquiry: Inquiry, body: str) -> list[Any]:
    """The values of `codec.COLUMNS` for an inquiry and its body."""
    values = list(codec.row(inquiry, body))
    for at in _TEXTS:
        text = values[at]
        if isinstance(text, str):
            values[at] = keep(text)
    return values


def decode(values: Sequence[Any]) -> Inquiry:
    """The inquiry that a row of `codec.COLUMNS` holds."""
    if any("\x01" in (values[at] or "") for at in _TEXTS):
        values = [plain(value) if at in _TEXTS and value else value for at, value in enumerate(values)]
    return codec.decode(values)


def _rank(row: Row) -> tuple[bool, int]:
    return row.inquiry.is_open, row.number
