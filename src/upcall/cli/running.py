"""`upcall up` and `upcall down`."""

import fcntl
import os
import select
import signal
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import suppress

from upcall.cli.command import Command
from upcall.home import Home, Running, default_home


def _up(args: Namespace) -> int:
    if args.background:
        # Before anything that starts a thread is imported.
        from upcall.launch import detach

        detach()
    from upcall.daemon import Start, serve

    start = Start(
        host=args.host, port=args.port, database=args.database, replace=args.replace, ready_fd=args.ready_fd
    )
    return serve(default_home(), start)


def _up_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="N", help="the port to listen on (the one it had before)")
    parser.add_argument("--database", metavar="URL", help="a file, or an address like sqlite:///path")
    parser.add_argument("--replace", action="store_true", help="end the daemon that runs, and take its place")
    parser.add_argument("--background", action="store_true", help=SUPPRESS)
    parser.add_argument("--ready-fd", type=int, help=SUPPRESS)


def _down(args: Namespace) -> int:
    home = default_home()
    if home.path.is_dir():
        # Also when none runs: a pipe that is looking for its daemon then starts nothing.
        home.write_private(home.down_mark, "")
    running = home.running()
    if running is None or not _is_held(home):
        print("Upcall is not running.")
        return 0
    gone = _end_of(running, home)
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    gone()
    print(
        "Upcall is down. Open questions are kept; `upcall up`, or any command that needs it, starts it again."
    )
    return 0


def _is_held(home: Home) -> bool:
    """Whether a daemon lives: then it holds the lock, whatever a file that it left behind may say."""
    try:
        with home.lock_file.open("rb") as life:
            fcntl.flock(life, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _end_of(running: Running, home: Home) -> Callable[[], None]:
    """A way to wait for the end of a process, taken hold of before it is told to end."""
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(running.pid)
        except OSError:
            return lambda: None
        return lambda: _wait_readable(handle)
    return lambda: _wait_unlocked(home)


def _wait_readable(handle: int) -> None:
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)


def _wait_unlocked(home: Home) -> None:
    with home.lock_file.open("rb") as life:
        fcntl.flock(life, fcntl.LOCK_SH)


COMMANDS = {
    "up": Command(
        _up,
        _up_arguments,
        examples="""\
  upcall up                    where a daemon runs already, only says where
  upcall up --replace          restart it; agents that wait do not notice
  upcall up --port 7391""",
    ),
    "down": Command(
        _down,
        examples="  upcall down                  agents that wait are told that their questions are parked",
    ),
}
