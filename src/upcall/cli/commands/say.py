"""`upcall say`: tells a run something, or continues one that has finished."""

import sys
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, run_path
from upcall.cli.command import Command, print_json, takes_json, takes_run

TOLD = {
    "live": "Run {} has your message.",
    "queued": "Run {} gets your message when its turn is over.",
    "resumed": "Run {} continues with your message.",
}


def _say(args: Namespace) -> int:
    text = sys.stdin.read().strip() if args.text == "-" else args.text
    reply = Client().post(run_path(args.run, "say"), {"text": text})
    if args.json:
        print_json(reply)
    else:
        print(TOLD[reply["delivery"]].format(args.run))
    return 0


def _arguments(parser: ArgumentParser) -> None:
    takes_run(parser)
    parser.add_argument("text", metavar="TEXT", help="the message; - reads it from standard input")
    takes_json(parser)


COMMAND = Command(
    _say,
    _arguments,
    examples="""\
  upcall say 42 "use the new API instead"
  upcall say 42 "now add a test"       continues a run that has finished""",
)
