"""The limit of connections of all listeners together, and the choice of the one that is closed for a new one."""

import logging
import resource
import time
from collections.abc import Callable
from typing import Protocol

RESERVED = 200
"""Descriptors that are reserved for the database, files and processes."""

MOST_FILES = 2**16
"""The highest limit that is asked for: started programs inherit it, and some close every descriptor up to it."""

FEWEST = 50
KNOWN = "upcall.known"
"""Set in the scope of a request once its credentials were found to be valid."""

TOLD_EVERY = 60.0
"""Seconds in which the same sentence is logged once."""

log = logging.getLogger(__name__)


class Guest(Protocol):
    """A connection, as the gate sees it."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way on it."""
        ...

    @property
    def is_known(self) -> bool:
        """Whether the request under way has valid credentials."""
        ...

    def give_way(self) -> None:
        """Close at once."""
        ...


class Gate:
    """Admits connections. Beyond the limit the oldest idle one is closed for a new one, or else the oldest without credentials."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._guests: dict[Guest, None] = {}
        self._told: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._guests)

    def enter(self, guest: Guest) -> bool:
        """Admit a connection; False if the limit is reached and no other can be closed for it."""
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
        """A connection has ended."""
        self._guests.pop(guest, None)

    def tell(self, what: str) -> None:
        """Log a sentence at most once a minute, with the number of times since."""
        now = self._clock()
        at, times = self._told.get(what, (now - TOLD_EVERY, 0))
        if now - at < TOLD_EVERY:
            self._told[what] = at, times + 1
            return
        self._told[what] = now, 0
        log.warning("%s%s", what, f" ({times} more times since it was last told)" if times else "")


def most_connections(chosen: int) -> int:
    """The limit of connections: the setting, or what the limit of open files leaves."""
    if chosen:
        return chosen
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_bounded(soft) - RESERVED, FEWEST)


def allow_many_files() -> None:
    """Raise the limit of open files as far as the system allows; usually it is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _bounded(hard)
    if _bounded(soft) < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            log.warning("the limit of open files stays at %d: %s", soft, error)


def _bounded(files: int) -> int:
    return MOST_FILES if files == resource.RLIM_INFINITY else min(files, MOST_FILES)
