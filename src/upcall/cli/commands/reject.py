"""`upcall reject`: declines to answer, with a reason for the agent."""

import os
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command, takes_json, takes_ref
from upcall.cli.commands.answer import asked_by, settled
from upcall.cli.render.fate import fate


def _reject(args: Namespace) -> int:
    body = {"reason": args.reason, "via": "terminal", "key": os.urandom(16).hex()}
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "reject"), body)
    because = f" because: {args.reason}" if args.reason else ""
    return settled(reply, args, f"Rejected {args.ref}{because}. {fate(reply)}")


def _arguments(parser: ArgumentParser) -> None:
    takes_ref(parser, or_run=True)
    parser.add_argument("--reason", help="what the agent is told")
    takes_json(parser)


COMMAND = Command(_reject, _arguments, examples='  upcall reject a7 --reason "ask me after the release"')
