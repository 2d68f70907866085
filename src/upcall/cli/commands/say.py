"""`upcall say`, `retry`, `attach`, and `cancel` of a run: what people do with an agent at work."""

import json
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from upcall.cli.client import Client, run_path
from upcall.cli.command import Command, takes_json, takes_run
from upcall.cli.failures import CommandFailed

TOLD = {
    "live": "Run {} has heard it.",
    "queued": "Run {} will hear it when its turn is over.",
    "resumed": "Run {} goes on with it.",
}


def _say(args: Namespace) -> int:
    text = sys.stdin.read().strip() if args.text == "-" else args.text
    reply = Client().post(run_path(args.run, "say"), {"text": text})
    if args.json:
        _print(reply)
    else:
        print(TOLD[reply["delivery"]].format(args.run))
    return 0


def _say_arguments(parser: ArgumentParser) -> None:
    takes_run(parser)
    parser.add_argument("text", metavar="TEXT", help="what to tell it; - reads it from standard input")
    takes_json(parser)


def cancel_run(number: int, *, as_json: bool) -> int:
    """End a run, its processes included."""
    run = Client().post(run_path(number, "cancel"), {})
    if as_json:
        _print(run)
    else:
        print(f"Cancelled run {number}." if run["ended_at"] else f"Run {number} is being ended.")
    return 0


def _retry(args: Namespace) -> int:
    run = Client().post(run_path(args.run, "retry"), {})
    number = run["number"]
    if args.json:
        _print(run)
    elif number == args.run:
        print(f"Run {number} is tried again. Follow it with: upcall log {number} -f")
    else:
        print(
            f"Run {number} tries again what run {args.run} was to do. Follow it with: upcall log {number} -f"
        )
    return 0


def _run_arguments(parser: ArgumentParser) -> None:
    takes_run(parser)
    takes_json(parser)


def _attach(args: Namespace) -> int:
    client = Client()
    if args.json:
        _print(client.post(run_path(args.run, "attach"), {}))
        return 0
    if client.remote:
        raise CommandFailed(
            "a session can only be taken over on the machine that it lives on",
            hint=f"run `upcall attach {args.run}` there",
        )
    # Only attaching starts processes and holds locks; the other commands need not pay for importing that.
    from upcall.runs.process.folder import RunFolder

    command = client.post(run_path(args.run, "attach"), {})
    folder = RunFolder(client.home.path / "runs" / str(args.run))
    with folder.kept() as lock:
        if lock is None:
            raise CommandFailed(
                f"somebody else works in the session of run {args.run}", hint=f"upcall log {args.run} -f"
            )
        return _in_this_terminal(command, lock)


def _in_this_terminal(command: dict[str, Any], lock: int) -> int:
    """Run a program as if it had been typed here, and return its exit code. Ctrl-C is for it, not for us.

    It gets the session's lock: whoever kills us does not make the session free while the program is at work in it.
    """
    import subprocess

    kept = {name: value for name, value in os.environ.items() if not name.startswith("UPCALL_")}
    # A handler, since what is ignored here would be ignored there too.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        environment = kept | command["environment"]
        code = subprocess.call(command["argv"], cwd=command["cwd"], env=environment, pass_fds=(lock,))
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _print(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


COMMANDS = {
    "say": Command(
        _say,
        _say_arguments,
        examples="""\
  upcall say 42 "use the new API instead"
  upcall say 42 "now add a test"       continues a run that has finished""",
    ),
    "retry": Command(
        _retry,
        _run_arguments,
        examples="  upcall retry 42",
    ),
    "attach": Command(
        _attach,
        _run_arguments,
        examples="""\
  upcall attach 42                     takes the session over, in this terminal
  upcall attach 42 --json              only says what would be started""",
    ),
}
