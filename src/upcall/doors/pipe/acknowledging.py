"""Whether an agent has taken what its pipe wrote to it, so that the daemon can be told.

Writing only fills a buffer of the system: an agent that is killed before it reads has nothing. Where the system does not
report what was read, nothing is acknowledged. Loaded by every pipe, so it is made of the cheapest parts of the standard library.
"""

import fcntl
import os
import select
import stat
import sys
import termios
import threading
from collections.abc import Callable

SHORTEST_NAP, LONGEST_NAP = 0.001, 0.5
"""Seconds between two looks at a buffer: no system tells when one has been emptied."""


class Acknowledging:
    """Answers that were written to an agent; `tell` hears of each, by its inquiry, once the agent has taken it."""

    def __init__(self, output: int, tell: Callable[[str], None]) -> None:
        self._output = output
        self._is_taken = is_read if stat.S_ISFIFO(os.fstat(output).st_mode) else is_delivered
        self._tell = tell
        self._changed = threading.Condition()
        self._coming: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._telling = 0
        self._watcher: threading.Thread | None = None

    def writing(self, request: str, inquiry: str) -> None:
        """The answer to an inquiry is about to be written as the reply to a request."""
        with self._changed:
            self._coming[request] = inquiry

    def wrote(self, request: str) -> None:
        """It was written; from now on it can be taken, or may have been given up already."""
        with self._changed:
            inquiry = self._coming.pop(request, None)
            if inquiry is None:
                return
            self._written[request] = inquiry
            if self._watcher is None:
                # With the first answer: most pipes are started by agents that never ask.
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
            self._changed.notify_all()

    def given_up(self, request: str) -> None:
        """The agent waits for this reply no more: it may still read it, and will not use it."""
        with self._changed:
            self._coming.pop(request, None)
            self._written.pop(request, None)

    def spoke(self) -> None:
        """The agent asks for something more: what it has taken until now is told before that is passed on."""
        with self._changed:
            if self._written and self._is_taken(self._output):
                self._tell_all()

    def finish(self, within: float) -> None:
        """The agent says nothing more: what it has taken is told before we go."""
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._written and not self._telling, within)

    def _watch(self) -> None:
        nap = SHORTEST_NAP
        with self._changed:
            while True:
                if not self._written:
                    self._changed.wait()
                    nap = SHORTEST_NAP
                elif self._is_taken(self._output):
                    self._tell_all()
                else:
                    self._changed.wait(nap)
                    nap = min(2 * nap, LONGEST_NAP)

    def _tell_all(self) -> None:
        """Acknowledge the answers written so far; those written meanwhile are checked afterwards."""
        taken, self._written = self._written, {}
        self._telling += 1
        self._changed.release()
        try:
            for inquiry in taken.values():
                self._tell(inquiry)
        finally:
            self._changed.acquire()
            self._telling -= 1
            self._changed.notify_all()


def can_tell(output: int) -> bool:
    """Whether the system says how much of what was written there has been read."""
    if sys.platform != "linux":
        return False
    mode = os.fstat(output).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def is_read(output: int) -> bool:
    """Whether everything that was written to a pipe has been read."""
    return _count(output, termios.FIONREAD) == 0


def is_delivered(output: int) -> bool:
    """The same for a socket."""
    # Bytes without a reader are thrown away, and look as if they had been read.
    return _count(output, termios.TIOCOUTQ) == 0 and not _is_deserted(output)


def _count(output: int, what: int) -> int:
    return int.from_bytes(fcntl.ioctl(output, what, bytes(4)), sys.byteorder)


def _is_deserted(output: int) -> bool:
    poll = select.poll()
    poll.register(output, 0)
    return bool(poll.poll(0))
