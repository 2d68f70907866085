"""Finds unused refs, several at a time: one read of the database serves many inquiries."""

import sqlite3
from collections import deque
from collections.abc import Callable
from itertools import islice
from random import Random

from upcall.domain.inquiry import refs
from upcall.stores.ref_lengths import RefLengths
from upcall.stores.sqlite.staged import Staged

DAY = 86400
AT_ONCE = 16

# Those of open inquiries, and of such that were closed not long enough ago.
_TAKEN = f"""
    SELECT ref FROM inquiry INDEXED BY inquiry_ref
    WHERE ref IN ({", ".join("?" * AT_ONCE)}) AND (closed_at IS NULL OR closed_at > ?)
"""  # noqa: S608 - nothing but marks; values are bound


class FreeRefs:
    """The next few refs, the shortest there are. What is found free stays so while one connection writes."""

    def __init__(self, db: sqlite3.Connection, clock: Callable[[], float], random: Random) -> None:
        self._db = db
        self._clock = clock
        self._random = random
        self._found: deque[str] = deque()
        self._lengths = RefLengths()

    def take(self, staged: Staged) -> str:
        """A ref that neither the database nor this transaction uses."""
        now = self._clock()
        if self._found and self._lengths.start(now) < len(self._found[0]):
            # Shorter ones may have rested enough by now.
            self.forget()
        while not self._found:
            self._look(now, staged)
        return self._found.popleft()

    def forget(self) -> None:
        """Read again before the next ref: another connection has written."""
        self._found.clear()

    def _look(self, now: float, staged: Staged) -> None:
        some = list(islice(refs.candidates(self._random, self._lengths.start(now)), AT_ONCE))
        rested = now - refs.REF_REST_DAYS * DAY
        taken = {ref for (ref,) in self._db.execute(_TAKEN, (*some, rested))}
        free = [ref for ref in dict.fromkeys(some) if ref not in taken and staged.get(ref) is None]
        if free:
            self._found.extend(free)
        else:
            self._lengths.grow()
