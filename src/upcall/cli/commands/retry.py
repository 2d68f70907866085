"""`upcall retry`: tries again what a run was to do, or to deliver an answer."""

from argparse import Namespace

from upcall.cli.client import Client, run_path
from upcall.cli.command import Command, print_json, takes_run_and_json
from upcall.home.program import program


def _retry(args: Namespace) -> int:
    run = Client().post(run_path(args.run, "retry"), {})
    number = run["number"]
    if args.json:
        print_json(run)
    elif number == args.run:
        print(f"Run {number} is tried again. Follow it with: {program()} log {number} -f")
    else:
        print(f"Run {number} repeats run {args.run}. Follow it with: {program()} log {number} -f")
    return 0


COMMAND = Command(
    _retry,
    takes_run_and_json,
    examples="  upcall retry 42",
)
