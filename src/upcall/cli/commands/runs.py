"""`upcall runs`: the latest runs."""

import time
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.runs import OVER, ended_line, run_line
from upcall.cli.render.terminal import paint, width
from upcall.home.program import program

STATES = ("queued", "running", "waiting_input", "completed", "failed", "cancelled")


def _runs(args: Namespace) -> int:
    page = Client().get("/v1/runs", state=args.state, limit=args.limit)
    if args.json:
        print_json(page)
        return 0
    now, colour, room = time.time(), paint(), width()
    for run in page["items"]:
        line = ended_line if run["state"] in OVER else run_line
        print(line(run, now, colour, room))
    if not page["items"]:
        print(f'No runs. `{program()} run AGENT "task"` starts one.')
    return 0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--state", choices=STATES, help="only those in this state")
    parser.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="how many (20, at most 200)")
    takes_json(parser)


COMMAND = Command(
    _runs,
    _arguments,
    examples="  upcall runs\n  upcall runs --state failed --json",
)
