"""Rows that cannot be read: each is named in the log once and left out, and all others are read."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from upcall.domain.errors import StorageError

MOST_TOLD = 10_000
"""Rows that are remembered as told of."""

T = TypeVar("T")

log = logging.getLogger(__name__)
_told: set[str] = set()


class DamagedRow(StorageError):
    """A row of the database that holds something else than what was written there."""

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__(
            f"{what} in the database cannot be read: {type(error).__name__}: {error}"[:300],
            hint="`upcall restore` puts a backup in its place; everything else can be used meanwhile",
        )


DAMAGE = (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading a damaged row raises."""


def readable(rows: Iterable[Sequence[Any]], read: Callable[[Sequence[Any]], T]) -> list[T]:
    """What the rows hold that can be read."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(read(row))
        except DamagedRow as problem:
            tell(problem)
    return found


def tell(problem: DamagedRow) -> None:
    """Name a row that is left out."""
    if problem.message not in _told and len(_told) < MOST_TOLD:
        _told.add(problem.message)
        log.error("%s; it is left out", problem.message)
