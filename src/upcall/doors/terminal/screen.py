"""The terminal of a session: which one it is, when its last key was pressed, and whether it is still there.

A hook is started without a terminal of its own, so it is found from the processes above it. The time of the last key is the access
time of the terminal's device, which the system sets when the program reads from it. Linux sets it at most once in eight seconds.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple, Self

MOST_PARENTS = 20
SHELLS = frozenset({"ash", "bash", "busybox", "dash", "ksh", "sh", "zsh"})
PROCESSES = "/proc"


class Screen(NamedTuple):
    """The device, and the process of the agent that reads from it."""

    path: str
    process: int

    @classmethod
    def above(cls, process: int) -> Self | None:
        """The terminal of the nearest program above that has one; None where there is none."""
        process = program_above(process)
        for _ in range(MOST_PARENTS):
            if process <= 1:
                return None
            parent, path = _about(process)
            if path:
                return cls(path, process)
            process = parent
        return None

    @classmethod
    def of(cls, program: str, folder: str) -> Self | None:
        """The terminal in which a program of that name works in a folder; of several, the one with the latest key.

        For a hook that is started by a server in the background. It needs a system with `/proc`.
        """
        found = [cls(path, process) for process, path in _named(program, folder)]
        return max(found, key=lambda screen: screen.pressed_at(), default=None)

    def idle(self) -> float | None:
        """Seconds since the last key; None if the terminal does not tell."""
        try:
            return max(time.time() - os.stat(self.path).st_atime, 0.0)  # noqa: PTH116 - pathlib costs more than the rest
        except OSError:
            return None

    def pressed_at(self) -> float:
        """When the last key was pressed; 0 if the terminal does not tell."""
        try:
            return os.stat(self.path).st_atime  # noqa: PTH116 - as above
        except OSError:
            return 0.0

    def is_there(self) -> bool:
        """Whether the agent still runs in it."""
        return is_running(self.process) and os.path.exists(self.path)  # noqa: PTH110 - as above

    def children(self) -> frozenset[int] | None:
        """The processes that the agent has started; None where the system does not tell."""
        try:
            with open(f"/proc/{self.process}/task/{self.process}/children") as file:  # noqa: PTH123 - as above
                return frozenset(map(int, file.read().split()))
        except (OSError, ValueError):
            return None


def program_above(process: int) -> int:
    """The process, or the nearest one above it that is no shell: a program may have one start its hook, and it ends with the hook."""
    for _ in range(MOST_PARENTS):
        if process <= 1 or _name(process) not in SHELLS:
            return process
        process = _about(process)[0]
    return process


def is_running(process: int) -> bool:
    """Whether a process is there, and not one that has ended and that its parent has not noticed."""
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 - as above
            return not file.read().rpartition(")")[2].lstrip().startswith(("Z", "X"))
    except FileNotFoundError:
        return not os.path.exists(PROCESSES)  # noqa: PTH110 - as above
    except OSError:
        return False


def has_terminal(program: str, process: int) -> bool:
    """Whether the nearest process above that is one of a program has a terminal itself."""
    for _ in range(MOST_PARENTS):
        if process <= 1:
            return False
        parent, path = _about(process)
        if _name(process) == program:
            return bool(path)
        process = parent
    return False


def _name(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm") as file:  # noqa: PTH123 - as above
            return file.read().strip()
    except OSError:
        return ""  # it has ended, or the system has no such file


def _named(program: str, folder: str) -> Iterator[tuple[int, str]]:
    """The processes of a name that have a terminal and work in a folder, each with the path of its terminal."""
    try:
        processes = [int(name) for name in os.listdir(PROCESSES) if name.isdigit()]  # noqa: PTH208 - as above
    except OSError:
        return
    for process in processes:
        if _name(process) != program:
            continue
        try:
            same = os.path.samefile(f"/proc/{process}/cwd", folder)  # noqa: PTH121 - as above
        except OSError:
            continue  # it has ended, or belongs to another user
        if same and (path := _about(process)[1]):
            yield process, path


def _about(process: int) -> tuple[int, str]:
    """The parent of a process and the path of its terminal, empty if it has none."""
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 - as above
            # The name of the program comes second, in brackets, and may have any character in it.
            words = file.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return _listed(process)
    except OSError:
        return 0, ""
    return int(words[1]), _device(int(words[4]))


def _device(number: int) -> str:
    """The path of a terminal by its number."""
    if not number:
        return ""
    major, minor = os.major(number), os.minor(number)
    for path in (f"/dev/pts/{(major - 136) * 256 + minor}", f"/dev/tty{minor}", f"/dev/ttyS{minor - 64}"):
        try:
            if os.stat(path).st_rdev == number:  # noqa: PTH116 - as above
                return path
        except OSError:
            continue
    return ""


def _listed(process: int) -> tuple[int, str]:
    """The same from `ps`, on a system without `/proc`."""
    try:
        said = subprocess.run(
            ["/bin/ps", "-o", "ppid=,tty=", "-p", str(process)],
            capture_output=True,
            text=True,
            check=True,
            timeout=1,
        ).stdout.split()
        parent, name = int(said[0]), said[1]
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return 0, ""
    return parent, "" if name.strip("?-") == "" else f"/dev/{name}"
