"""Finds free refs for the new inquiries of a transaction, a few guesses at a time."""

from collections.abc import Iterator
from itertools import islice
from random import Random

from upcall.domain.inquiry import refs
from upcall.stores.postgres.work import Adding
from upcall.stores.ref_lengths import RefLengths

DAY = 86400
TRIES = 4
"""Refs of one length that are tried for an inquiry before the next length."""


class FreeRefs:
    """Finds a free ref for every new inquiry of a group: shortest first, none twice."""

    def __init__(self, adding: list[Adding], random: Random, lengths: RefLengths, now: float) -> None:
        self.chosen: dict[Adding, str] = {}
        self.rested = now - refs.REF_REST_DAYS * DAY
        self.unnamed: list[tuple[Adding, Iterator[str]]] = [
            (work, _growing(random, lengths.start(now))) for work in adding
        ]
        self._lengths = lengths
        self._offered: list[list[str]] = []
        self._used: set[str] = set()

    def offer(self) -> list[str]:
        """Refs to look for, a few for each."""
        self._offered = [[next(candidates) for _ in range(TRIES)] for _, candidates in self.unnamed]
        return sorted({ref for offered in self._offered for ref in offered})

    def settle(self, taken: set[str]) -> None:
        """Choose from what was offered and is not taken."""
        self._used |= taken
        still: list[tuple[Adding, Iterator[str]]] = []
        for waiting, offered in zip(self.unnamed, self._offered, strict=True):
            free = next((ref for ref in offered if ref not in self._used), None)
            if free is None:
                still.append(waiting)
            else:
                self._used.add(free)
                self._lengths.used(free)
                self.chosen[waiting[0]] = free
        self.unnamed = still


def _growing(random: Random, length: int) -> Iterator[str]:
    """Refs to try, a few of each length; the last length is tried for ever."""
    while True:
        yield from islice(refs.candidates(random, length), TRIES)
        length = min(length + 1, refs.LONGEST)
