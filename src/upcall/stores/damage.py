"""Rows that cannot be read: each is named in the log once and left out, and all others are read."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from upcall.domain.errors import DamagedRow

MOST_TOLD = 10_000
"""Rows that are remembered as logged."""

T = TypeVar("T")

log = logging.getLogger(__name__)
_told: set[str] = set()


DAMAGE = (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError)
"""The exceptions of reading a damaged row."""


def readable(rows: Iterable[Sequence[Any]], read: Callable[[Sequence[Any]], T]) -> list[T]:
    """The values of the rows that can be read."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(read(row))
        except DamagedRow as problem:
            log_once(problem)
    return found


def log_once(problem: DamagedRow) -> None:
    """Log a row that is left out, once."""
    if problem.message not in _told and len(_told) < MOST_TOLD:
        _told.add(problem.message)
        log.error("%s; it is left out", problem.message)
