"""Ending a process with all its descendants. Needs only the standard library."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_SET_CHILD_SUBREAPER, _SET_PDEATHSIG = 36, 1
_LOOK_AGAIN = 0.05
_OURS = (b"-m\0upcall\0up\0", f"-m\0{__package__}.keeper\0".encode())
"""Parts of the command lines of a daemon, which an agent that needs one starts, and of that daemon's keepers."""
GIVE_UP = 10.0
"""Seconds after which a process that cannot be killed is left alone."""


def adopt_orphans() -> None:
    """Become the parent of the processes that our children leave behind, to find them. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Called in a child before its program starts: it is killed when its keeper is. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def descendants(ancestor: int) -> list[int]:
    """The living processes that this one has started, and those that they did.

    Without a daemon, which an agent that asks may have had to start, and without the keepers of that daemon.
    """
    children: dict[int, list[int]] = {}
    for process, parent in _processes():
        children.setdefault(parent, []).append(process)
    found, look = list[int](), [ancestor]
    while look:
        below = [process for process in children.get(look.pop(), []) if not _is_ours(process)]
        found += below
        look += below
    return [process for process in found if not _is_dead(process)]


def end_descendants(grace: float) -> None:
    """End every process below this one: SIGTERM first, SIGKILL after the grace. Never SIGINT, which agents take for a no."""
    _signal(descendants(os.getpid()), signal.SIGTERM)
    deadline = time.monotonic() + grace
    while (left := descendants(os.getpid())) and (now := time.monotonic()) < deadline + GIVE_UP:
        if now >= deadline:
            _signal(left, signal.SIGKILL)
        _wait_for_one(left, deadline - now if now < deadline else deadline + GIVE_UP - now)


def _wait_for_one(processes: list[int], seconds: float) -> None:
    """Return when one of them has ended, or after so many seconds; outside Linux after a short sleep, to look again."""
    if sys.platform != "linux":
        time.sleep(min(_LOOK_AGAIN, seconds))
        return
    poll, ends = select.poll(), list[int]()
    try:
        for process in processes:
            ends.append(os.pidfd_open(process))
            poll.register(ends[-1], select.POLLIN)
        poll.poll(seconds * 1000)
    except ProcessLookupError:
        return  # it was faster
    finally:
        for end in ends:
            os.close(end)


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _is_ours(process: int) -> bool:
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        return any(words in command for words in _OURS)
    return False


def _is_dead(process: int) -> bool:
    """Whether a process has ended and waits to be reaped."""
    if sys.platform != "linux":
        return False
    try:
        return _stat(process)[0] == b"Z"
    except (OSError, IndexError):
        return True


def _processes() -> list[tuple[int, int]]:
    """Every process and its parent."""
    if sys.platform != "linux":
        # On the PATH, since systems have it in different folders.
        ps = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True)
        return [(int(pid), int(parent)) for pid, parent in (line.split() for line in ps.stdout.splitlines())]
    found: list[tuple[int, int]] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                found.append((int(entry.name), int(_stat(int(entry.name))[1])))
    return found


def _stat(process: int) -> list[bytes]:
    # The name in parentheses may contain anything, so what counts comes after the last of them.
    return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
