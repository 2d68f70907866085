"""One daemon per home, decided by two locks that the system frees however a process ends.

`start.lock` is held while a daemon comes up, so that whoever comes second finds one that is ready;
`daemon.lock` is held for its whole life.
"""

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

from upcall.home import Home


class Instance:
    """The right to be the daemon of a home."""

    def __init__(self, start: int, life: int) -> None:
        self._held = {"start": start, "life": life}

    @classmethod
    def claim(cls, home: Home) -> "Instance | None":
        """Become the daemon of a home; None when there is one, which is then ready."""
        start = _open(home.start_lock_file)
        fcntl.flock(start, fcntl.LOCK_EX)
        life = _open(home.lock_file)
        try:
            fcntl.flock(life, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(life)
            os.close(start)
            return None
        return cls(start, life)

    def ready(self) -> None:
        """Let others look: from now on they find this daemon."""
        self._free("start")

    def release(self) -> None:
        """Give the home up."""
        self._free("start")
        self._free("life")

    def _free(self, name: str) -> None:
        descriptor = self._held.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)


def stop_running(home: Home) -> bool:
    """Tell the daemon of a home to stop and wait until it has; False when there is none."""
    running = home.running()
    if running is not None:
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
    life = _open(home.lock_file)
    try:
        # Its lock is freed by its end, so this waits exactly as long as it lives.
        fcntl.flock(life, fcntl.LOCK_EX)
    finally:
        os.close(life)
    return running is not None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
