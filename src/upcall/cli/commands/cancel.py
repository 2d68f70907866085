"""`upcall cancel`: ends a run, or withdraws a question."""

import os
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.command import Command, is_run, print_json, takes_json, takes_ref


def _cancel(args: Namespace) -> int:
    if is_run(args.ref):
        return _cancel_run(int(args.ref), as_json=args.json)
    from upcall.cli.commands.answer import settled
    from upcall.cli.commands.wait import found

    client, inquiry = found(args.ref)
    body = {"reason": args.reason, "via": "terminal", "key": os.urandom(16).hex()}
    reply = client.post(inquiry_path(inquiry["id"], "cancel"), body)
    return settled(reply, args, f"Cancelled {inquiry['ref']}.")


def _cancel_run(number: int, *, as_json: bool) -> int:
    """End a run, its processes included."""
    run = Client().post(run_path(number, "cancel"), {})
    if as_json:
        print_json(run)
    else:
        print(f"Cancelled run {number}." if run["ended_at"] else f"Run {number} is being ended.")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    takes_ref(parser, or_run=True)
    parser.add_argument("--reason", help="why, for the record")
    takes_json(parser)


COMMAND = Command(
    _cancel,
    _arguments,
    examples="""\
  upcall cancel a7                 withdraws a question
  upcall cancel 42                 ends a run""",
)
