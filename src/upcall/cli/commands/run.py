"""`upcall run` and `upcall runs`: agents at work, in the background unless told otherwise."""

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from upcall.cli.client import Client
from upcall.cli.command import Command, takes_json
from upcall.cli.failures import CommandFailed
from upcall.cli.render.runs import OVER, Run, ended_line, ending, run_line
from upcall.cli.render.terminal import paint, width

USAGE = 2
INTERRUPTED = 130
EXITS = {"completed": 0, "failed": 1, "cancelled": 13}
PERMISSIONS = ("approval", "autonomous")
STATES = ("queued", "running", "waiting_input", "completed", "failed", "cancelled")


def _run(args: Namespace) -> int:
    client = Client()
    run = client.post("/v1/runs", _order(client, args))
    if args.wait:
        return followed(client, run, as_json=args.json)
    if args.json:
        print(json.dumps(run, indent=2, ensure_ascii=False))
        return 0
    print(run["number"], flush=True)
    _say(introduction(run))
    return 0


def introduction(run: Run) -> str:
    """How to follow a run, and how to answer it."""
    number = run["number"]
    return (
        f"{run['agent']} works on it as run {number}. Follow it with: upcall log {number} -f\n"
        f'`upcall status` shows what it asks. Answer it with: upcall answer {number} "…"'
    )


def followed(client: Client, run: Run, *, as_json: bool) -> int:
    """Follow a run to its end, print its result and return the exit code that tells how it ended."""
    from upcall.cli.commands.following import follow

    number = run["number"]
    if run["exit_code"] is None:
        _say(f"Run {number} has begun.")
    try:
        run = follow(client, number)
    except KeyboardInterrupt:
        _say(f"\nDetached: run {number} goes on. Next: upcall log {number} -f")
        return INTERRUPTED
    if as_json:
        print(json.dumps(run, indent=2, ensure_ascii=False), flush=True)
    elif run["result"]:
        print(run["result"], flush=True)
    if run["state"] != "completed":
        raise CommandFailed(
            f"run {number} {ending(run)}",
            hint=f"`upcall log {number}` has what it wrote; `upcall retry {number}` tries again",
            exit_code=EXITS[run["state"]],
        )
    return 0


def _order(client: Client, args: Namespace) -> dict[str, Any]:
    order: dict[str, Any] = {
        "agent": args.agent,
        "task": sys.stdin.read().strip() if args.task == "-" else args.task,
        "cwd": _folder(args.cwd, remote=bool(client.remote)),
        "permission": args.permission,
        "arguments": args.passed_on,
    }
    if not client.remote:
        # What this shell has is for programs on this machine only.
        order["environment"] = _environment()
    return order


def _folder(given: str | None, *, remote: bool) -> str:
    if given is None and remote:
        raise CommandFailed(
            "the run will work on another machine", hint="say where, with --cwd", exit_code=USAGE
        )
    if remote:
        return str(given)
    folder = Path(given or ".").expanduser().absolute()
    if not folder.is_dir():
        raise CommandFailed(
            f"there is no folder {str(folder)!r}", hint="name one that exists", exit_code=USAGE
        )
    return str(folder.resolve())


def _environment() -> dict[str, str]:
    """The shell's variables, except for those that lead to Upcall and those that are no text."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("UPCALL_") and _is_text(name + value)
    }


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "agent", metavar="AGENT", help="who works on it: claude, codex, …, or one of your own"
    )
    parser.add_argument("task", metavar="TASK", help="what to do; - reads it from standard input")
    parser.add_argument("--wait", action="store_true", help="follow it to its end")
    parser.add_argument("--cwd", metavar="DIR", help="where to work (here)")
    parser.add_argument(
        "--permission",
        choices=PERMISSIONS,
        help="whether what is risky is put to a person first (as set for the agent)",
    )
    takes_json(parser)


def _runs(args: Namespace) -> int:
    page = Client().get("/v1/runs", state=args.state, limit=args.limit)
    if args.json:
        print(json.dumps(page, indent=2, ensure_ascii=False))
        return 0
    now, colour, room = time.time(), paint(), width()
    for run in page["items"]:
        line = ended_line if run["state"] in OVER else run_line
        print(line(run, now, colour, room))
    if not page["items"]:
        print('No runs. `upcall run AGENT "task"` starts one.')
    return 0


def _runs_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--state", choices=STATES, help="only those in this state")
    parser.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="how many (20, at most 200)")
    takes_json(parser)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


COMMANDS = {
    "run": Command(
        _run,
        _run_arguments,
        examples="""\
  upcall run claude "Fix the flaky test in tests/test_cart.py"
  upcall run codex "Update the dependencies" --cwd ~/shop --wait
  upcall run claude - < task.md
  upcall run claude "Tidy up" --permission autonomous -- --model opus
what follows -- is passed on to the agent's own program. Standard output gets the run's number alone; with --wait, its result.
exit codes with --wait: 0 completed, 1 failed, 13 cancelled, 130 interrupted (the run goes on)""",
        passes_on=True,
    ),
    "runs": Command(
        _runs,
        _runs_arguments,
        examples="  upcall runs\n  upcall runs --state failed --json",
    ),
}
