"""`upcall run`: starts an agent on a task, in the background or followed to its end."""

import os
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.failures import CommandFailed
from upcall.cli.render.inquiries import Inquiry, answer_command, name_of
from upcall.cli.render.runs import OVER, Run, ending
from upcall.cli.render.terminal import Paint, paint, width
from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.home.files import default_home
from upcall.home.program import program

USAGE = 2
INTERRUPTED = 130
EXITS = {"completed": 0, "failed": 1, "cancelled": 13}
PERMISSIONS = ("approval", "autonomous")
POLL_SECONDS = 60.0
WIDEST = 100
LAST_LINES_WITHIN = 10.0
"""Seconds for the last lines to be printed once the run is over."""


def _run(args: Namespace) -> int:
    client = Client()
    run = client.post("/v1/runs", _order(client, args))
    if args.wait:
        return followed(client, run, as_json=args.json)
    if args.json:
        print_json(run)
        return 0
    print(run["number"], flush=True)
    _say(introduction(run))
    return 0


def introduction(run: Run) -> str:
    """How to follow a run, and how to answer it."""
    number = run["number"]
    return (
        f"{run['agent']} works on it as run {number}. Follow it with: {program()} log {number} -f\n"
        f'`{program()} status` shows what it asks. Answer it with: {program()} answer {number} "…"'
    )


def followed(client: Client, run: Run, *, as_json: bool) -> int:
    """Follow a run to its end, print its result and return the exit code that tells how it ended."""
    number = run["number"]
    if run["exit_code"] is None:
        _say(f"Run {number} has begun.")
    try:
        run = _follow(client, number)
    except KeyboardInterrupt:
        _say(f"\nDetached: run {number} goes on. Next: {program()} log {number} -f")
        return INTERRUPTED
    if as_json:
        print_json(run)
    elif run["result"]:
        print(run["result"], flush=True)
    if run["state"] != "completed":
        raise CommandFailed(
            f"run {number} {ending(run)}",
            hint=f"`upcall log {number}` has what it wrote; `upcall retry {number}` tries again",
            exit_code=EXITS[run["state"]],
        )
    return 0


def _follow(client: Client, number: int) -> Run:
    """Print to standard error what a run writes and asks until it is over; return its last state."""
    lines = threading.Thread(target=_print_log, args=(Client(client.role, client.home), number), daemon=True)
    lines.start()
    told: set[str] = set()
    after = client.latest_event()
    while True:
        run: Run = client.get(run_path(number))
        news = [ref for ref in run["inquiries"] if ref not in told]
        for ref in news:
            _print_question(client.get(inquiry_path(ref)), run)
        told |= set(news)
        if run["state"] in OVER:
            lines.join(LAST_LINES_WITHIN)
            return run
        after = _next_news(client, number, after)


def _next_news(client: Client, number: int, after: int) -> int:
    """Wait for an event that may concern a run; return its number."""
    while True:
        events = client.get("/v1/events", patience=POLL_SECONDS, after=after, wait=f"{POLL_SECONDS:g}")
        after = events["next_after"]
        if any(event["inquiry"] or event["data"].get("run") == number for event in events["items"]):
            return after


def _print_log(client: Client, number: int) -> None:
    from upcall.cli.commands.log import log_lines, shown

    colour = paint(sys.stderr)
    try:
        for line in log_lines(client, number, follow=True):
            _say(shown(line, colour))
    except UpcallError:
        # The thread that follows the run fails in the same way, and reports it.
        return


def _print_question(inquiry: Inquiry, run: Run) -> None:
    colour = paint(sys.stderr)
    room = min(width(sys.stderr) or WIDEST, WIDEST)
    ring = "\a" if sys.stderr.isatty() and _has_bell() else ""
    _say(ring + "\n".join(_question(inquiry, run, colour, room)))


def _has_bell() -> bool:
    """Whether a question rings the bell of this terminal. The daemon reports settings that cannot be used."""
    from upcall.config.settings import load

    try:
        return load(default_home()).notifications.terminal_bell
    except InvalidSetting:
        return False


def _question(inquiry: Inquiry, run: Run, colour: Paint, room: int) -> list[str]:
    from upcall.cli.render.details import question_lines

    name = name_of(inquiry, Counter({run["number"]: len(run["inquiries"])}))
    return [
        "",
        colour.bold("QUESTION:"),
        *question_lines(inquiry, colour, room),
        "",
        f"  Answer with: {colour.name(answer_command(inquiry, name))}",
        "",
    ]


def _order(client: Client, args: Namespace) -> dict[str, Any]:
    order: dict[str, Any] = {
        "agent": args.agent,
        "task": sys.stdin.read().strip() if args.task == "-" else args.task,
        "cwd": _folder(args.cwd, remote=bool(client.remote)),
        "permission": args.permission,
        "arguments": args.passed_on,
    }
    if not client.remote:
        # The variables of this shell are for programs on this machine only.
        order["environment"] = _environment()
    return order


def _folder(given: str | None, *, remote: bool) -> str:
    if given is None and remote:
        raise CommandFailed(
            "a run on another machine needs a folder there", hint="name it with --cwd DIR", exit_code=USAGE
        )
    if remote:
        return str(given)
    folder = Path(given or ".").expanduser().absolute()
    if not folder.is_dir():
        raise CommandFailed(
            f"there is no folder {str(folder)!r}", hint="name an existing folder with --cwd", exit_code=USAGE
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


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="the agent: claude, codex, …, or one of your own")
    parser.add_argument("task", metavar="TASK", help="what to do; - reads it from standard input")
    parser.add_argument("--wait", action="store_true", help="follow the run to its end")
    parser.add_argument("--cwd", metavar="DIR", help="the folder to work in (this one)")
    parser.add_argument(
        "--permission",
        choices=PERMISSIONS,
        help="whether a person decides about risky actions first (as set for the agent)",
    )
    takes_json(parser)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


COMMAND = Command(
    _run,
    _arguments,
    examples="""\
  upcall run claude "Fix the flaky test in tests/test_cart.py"
  upcall run codex "Update the dependencies" --cwd ~/shop --wait
  upcall run claude - < task.md
  upcall run claude "Tidy up" --permission autonomous -- --model opus
Arguments after -- go to the agent's own program. Standard output gets the run's number alone; with --wait, its result.
Exit codes with --wait: 0 completed, 1 failed, 13 cancelled, 130 interrupted (the run goes on)""",
    passes_on=True,
)
