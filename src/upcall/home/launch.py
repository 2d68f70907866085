"""Starting a daemon in the background when one is needed, and waiting until it is ready.

The child reports through an inherited descriptor that it is ready; the command does not poll. Two commands that start a
daemon at the same moment are told apart by the daemon's own lock: the loser's child reports the winner.
"""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Sequence

from upcall.domain.errors import UpcallError
from upcall.home.files import Home, Running


def detach() -> None:
    """Go on as an orphan: the command that started the daemon need not reap it, and does not take its exit for its end."""
    if os.fork():
        os._exit(0)


NEEDED = ("itsdangerous", "mcp_types", "starlette", "uvicorn")
"""Some of what a daemon is made of, and the client is not."""


class DaemonFailed(UpcallError):
    """A daemon was started and did not come up."""

    code = "daemon_failed"


def _check_installed() -> None:
    """Raises DaemonFailed where Upcall was installed without its dependencies, beside a framework that holds one of them back."""
    # Every pipe loads this module, and hardly any starts a daemon.
    from importlib.util import find_spec  # noqa: PLC0415

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise DaemonFailed(
            f"no daemon runs, and none can be started here: {missing[0]!r} is not installed",
            hint="start one from an environment of its own (`pipx install upcall`, `upcall up --background`), "
            "or set UPCALL_URL and UPCALL_TOKEN",
        )


def _open_log(home: Home) -> int:
    """The file that a daemon in the background writes to: ours alone, and no other under the name of ours."""
    # Without waiting for a reader, where something has put a pipe there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    problem = "it is not a file of its own"
    try:
        descriptor = os.open(home.log_file, flags, 0o600)
    except OSError as error:
        problem = problem if error.errno in {errno.ELOOP, errno.ENXIO} else str(error.strerror)
    else:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.getuid():
            os.fchmod(descriptor, 0o600)
            return descriptor
        os.close(descriptor)
    raise DaemonFailed(
        f"the log {str(home.log_file)!r} cannot be opened: {problem}",
        hint=f"look at it, then remove {home.log_file}",
    )


def ensure_running(home: Home) -> Running:
    """The daemon of this home, started now if there is none. Raises as `start_daemon` does."""
    return home.running() or start_daemon(home)


def start_daemon(home: Home, options: Sequence[str] = ()) -> Running:
    """Start a daemon in the background, with these options of `upcall up`, and wait until it answers.

    Raises:
        DaemonFailed: if it does not come up; the sentence is the daemon's own.
    """
    _check_installed()
    home.create()
    ready, said = os.pipe()
    try:
        with os.fdopen(_open_log(home), "wb") as log:
            subprocess.run(
                # -P and the folder: an agent's project must not be what Python imports its modules from.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "upcall",
                    "up",
                    "--background",
                    "--ready-fd",
                    str(said),
                    *options,
                ],
                check=False,
                cwd=home.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(said,),
                start_new_session=True,
                env={**os.environ, "UPCALL_HOME": str(home.path)},
            )
    finally:
        os.close(said)
    with os.fdopen(ready, "r") as words:
        # End of file without a word means that the process is gone. A failure has a second line: what to do next.
        verdict, hint = words.readline().strip(), words.readline().strip()
    running = home.running()
    if verdict != "ready" or running is None:
        raise DaemonFailed(
            verdict.removeprefix("failed: ") or "the daemon ended while it was starting",
            hint=hint or f"see {home.log_file}, or run `upcall up` to watch it start",
        )
    return running
