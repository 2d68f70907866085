"""How many connections there may be, of all listeners together, and which one gives way when there are too many."""

import logging
import resource
import time
from collections.abc import Callable
from typing import Protocol

RESERVED = 200
"""Descriptors that are kept for the database, files and processes."""

MOST_FILES = 2**16
"""Descriptors that are asked for: programs that are started here inherit the limit, and some go through all of them."""

FEWEST = 50
KNOWN = "upcall.known"
"""Set in the scope of a request once its credentials were found to be valid."""

TOLD_EVERY = 60.0
"""Seconds in which the same is told once."""

log = logging.getLogger(__name__)


class Guest(Protocol):
    """A connection, as far as it matters here."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way on it."""
        ...

    @property
    def is_known(self) -> bool:
        """Whether what is under way on it is of a caller with valid credentials."""
        ...

    def give_way(self) -> None:
        """End at once."""
        ...


class Gate:
    """Lets connections in. One that is idle gives way to a new one, or else one that has shown no credentials."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._guests: dict[Guest, None] = {}
        self._told: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._guests)

    def enter(self, guest: Guest) -> bool:
        """Let a connection in, the oldest that can give way for it; False if none can."""
        if len(self._guests) >= self.most:
            leaving = next((each for each in self._guests if each.is_idle), None)
            leaving = leaving or next((each for each in self._guests if not each.is_known), None)
            if leaving is None:
                self.tell(f"all {self.most} connections are in use: new ones are refused")
                return False
            self.tell(f"there are {self.most} connections: idle ones and those of strangers give way")
            self.leave(leaving)
            leaving.give_way()
        self._guests[guest] = None
        return True

    def leave(self, guest: Guest) -> None:
        """A connection is over."""
        self._guests.pop(guest, None)

    def tell(self, what: str) -> None:
        """Write something to the log, at most once a minute, with how often it happened since."""
        now = self._clock()
        at, times = self._told.get(what, (now - TOLD_EVERY, 0))
        if now - at < TOLD_EVERY:
            self._told[what] = at, times + 1
            return
        self._told[what] = now, 0
        log.warning("%s%s", what, f" ({times} more times since it was last told)" if times else "")


def most_connections(chosen: int) -> int:
    """How many connections there may be: what was chosen, or what the limit of open files leaves."""
    if chosen:
        return chosen
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_bounded(soft) - RESERVED, FEWEST)


def allow_many_files() -> None:
    """Raise the limit of open files as far as the system lets this process: usually it begins at 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _bounded(hard)
    if _bounded(soft) < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            log.warning("the limit of open files stays at %d: %s", soft, error)


def _bounded(files: int) -> int:
    return MOST_FILES if files == resource.RLIM_INFINITY else min(files, MOST_FILES)
