"""Rows that cannot be read, because something else than Upcall has written to them: named in the log, and left out."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

MOST_NAMED = 1000
"""How many rows are named in the log by one process."""

T = TypeVar("T")
log = logging.getLogger("upcall.stores")
_named: set[str] = set()


def readable(
    rows: Iterable[Sequence[Any]], read: Callable[[Sequence[Any]], T], kind: str, at: int = 0
) -> list[T]:
    """What rows hold, without those that hold nothing of the kind; the column `at` is the name of a row."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(read(row))
        except Exception as problem:  # noqa: BLE001 - a broken row may raise anything, and concerns no other row
            left_out(f"the {kind} {row[at]!r}", problem)
    return found


def left_out(name: str, problem: Exception) -> None:
    """Say once that a row is left out."""
    if name not in _named and len(_named) < MOST_NAMED:
        _named.add(name)
        log.error("%s cannot be read and is left out: %s: %s", name, type(problem).__name__, problem)
