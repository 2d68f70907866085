"""Starting a daemon in the background when one is needed, and waiting until it is ready.

The child says when it is ready through an inherited descriptor, so nobody polls. Two commands that start one at
the same moment are told apart by the daemon's own lock: the loser's child reports the winner.
"""

import os
import subprocess
import sys

from upcall.domain.errors import UpcallError
from upcall.home import Home, Running


def detach() -> None:
    """Go on as nobody's child: whoever started us need not bury us, and is not mistaken about our life."""
    if os.fork():
        os._exit(0)


class DaemonFailed(UpcallError):
    """A daemon was started and did not come up."""

    code = "daemon_failed"


def ensure_running(home: Home) -> Running:
    """The daemon of this home, started now if there is none.

    Raises:
        DaemonFailed: if it does not come up; the sentence is the daemon's own.
    """
    running = home.running()
    if running is not None:
        return running
    home.create()
    ready, said = os.pipe()
    try:
        with os.fdopen(os.open(home.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as log:
            subprocess.run(
                # -P and the folder: an agent's project must not be what Python imports its modules from.
                [sys.executable, "-P", "-m", "upcall", "up", "--background", "--ready-fd", str(said)],
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
        # End of file without a word means that the process is gone.
        verdict = words.readline().strip()
    running = home.running()
    if verdict != "ready" or running is None:
        raise DaemonFailed(
            verdict.removeprefix("failed: ") or "the daemon ended while it was starting",
            hint=f"see {home.log_file}, or run `upcall up` to watch it start",
        )
    return running
