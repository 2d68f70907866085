"""`upcall attach`: takes the session of a run over, in this terminal."""

import os
import signal
from argparse import Namespace
from typing import Any

from upcall.cli.client import Client, run_path
from upcall.cli.command import Command, print_json, takes_run_and_json
from upcall.cli.failures import CommandFailed


def _attach(args: Namespace) -> int:
    client = Client()
    if args.json:
        print_json(client.post(run_path(args.run, "attach"), {}))
        return 0
    if client.remote:
        raise CommandFailed(
            "a session can only be taken over on its own machine",
            hint=f"run `upcall attach {args.run}` there",
        )
    from upcall.runs.process.folder import RunFolder

    command = client.post(run_path(args.run, "attach"), {})
    folder = RunFolder(client.home.path / "runs" / str(args.run))
    with folder.locked() as lock:
        if lock is None:
            raise CommandFailed(
                f"another process works in the session of run {args.run}",
                hint=f"follow it with: upcall log {args.run} -f",
            )
        return _in_this_terminal(command, lock)


def _in_this_terminal(command: dict[str, Any], lock: int) -> int:
    """Run a program in this terminal and return its exit code. Ctrl-C goes to the program.

    The program inherits the session's lock, so the session stays locked while it runs, even if this process is killed.
    """
    import subprocess

    kept = {name: value for name, value in os.environ.items() if not name.startswith("UPCALL_")}
    # A handler, since the program would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        environment = kept | command["environment"]
        code = subprocess.call(command["argv"], cwd=command["cwd"], env=environment, pass_fds=(lock,))
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


COMMAND = Command(
    _attach,
    takes_run_and_json,
    examples="""\
  upcall attach 42                     takes the session over, in this terminal
  upcall attach 42 --json              only prints the command""",
)
