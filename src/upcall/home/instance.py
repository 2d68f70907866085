"""One daemon per home, decided by two locks that the system frees however a process ends.

A daemon holds `start.lock` while it comes up; a command holds it while it looks for a daemon. So a command never disturbs
a start and finds only daemons that are ready. A daemon holds `daemon.lock` for its whole life.
"""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from upcall.home.files import Home


class Instance:
    """The right to be the daemon of a home."""

    def __init__(self, start: int, life: int) -> None:
        self._held = {"start": start, "life": life}

    @classmethod
    def claim(cls, home: Home) -> Self | None:
        """Become the daemon of a home; None when there is one, which is then ready."""
        start = _open(home.start_lock_file)
        fcntl.flock(start, fcntl.LOCK_EX)
        life = _try(home.lock_file)
        if life is None:
            os.close(start)
            return None
        return cls(start, life)

    def ready(self) -> None:
        """Release the start lock: from now on commands find this daemon."""
        self._free("start")

    def release(self) -> None:
        """Give the home up."""
        self._free("start")
        self._free("life")

    def _free(self, name: str) -> None:
        descriptor = self._held.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)


def forget_dead(home: Home) -> bool:
    """Drop a runtime file that outlived its daemon: another process may have the daemon's number by now."""
    with _starts_blocked(home):
        life = _try(home.lock_file)
        if life is None:
            return False
        home.runtime_file.unlink(missing_ok=True)
        os.close(life)
        return True


def stop_running(home: Home) -> bool:
    """Tell the daemon of a home to stop and wait until it has; False when there is none."""
    with _starts_blocked(home):
        life = _try(home.lock_file)
        if life is not None:
            os.close(life)
            return False
        running = home.running()
        if running is not None:
            with suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGTERM)
        life = _open(home.lock_file)
        try:
            # Freed by its end, so this waits exactly as long as it lives.
            fcntl.flock(life, fcntl.LOCK_EX)
        finally:
            os.close(life)
        return True


@contextmanager
def _starts_blocked(home: Home) -> Iterator[None]:
    start = _open(home.start_lock_file)
    try:
        fcntl.flock(start, fcntl.LOCK_EX)
        yield
    finally:
        os.close(start)


def _try(path: Path) -> int | None:
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
