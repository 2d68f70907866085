"""`upcall correct`: tells the agent of an answered question that the answer was wrong, and what is right."""

import os
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command, print_json, takes_json, takes_ref

HEARD = {
    "live": "The agent is told at once.",
    "queued": "The agent is told when its turn is over.",
    "resumed": "Its session is brought back with it as run {run}.",
    "thread": "It is in the thread, for the agent's next turn.",
    "repeated": "The agent was told before.",
}


def _correct(args: Namespace) -> int:
    body = {"text": " ".join(args.words), "via": "terminal", "key": os.urandom(16).hex()}
    told = Client().post(inquiry_path(args.ref, "correct"), body)
    if args.json:
        print_json(told)
    else:
        print(f"Corrected {told['inquiry']['ref']}. {HEARD[told['to']].format(run=told['run'])}")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    takes_ref(parser)
    parser.add_argument(
        "words", metavar="WORDS", nargs="+", help="what is right; the agent is told, with the old answer"
    )
    takes_json(parser)


COMMAND = Command(_correct, _arguments, examples='  upcall correct a7 "Memcached, after all"')
