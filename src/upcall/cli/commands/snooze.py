"""`upcall snooze`: pauses the reminders of a question."""

from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command, seconds, takes_json, takes_ref
from upcall.cli.commands.answer import asked_by, settled
from upcall.domain.text.times import span


def _snooze(args: Namespace) -> int:
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "snooze"), {"seconds": args.span})
    return settled(reply, args, f"Snoozed {args.ref} for {span(args.span)}. It stays open.")


def span_arguments(parser: ArgumentParser) -> None:
    """Take a question and a span of time."""
    takes_ref(parser, or_run=True)
    parser.add_argument("span", metavar="SPAN", type=seconds, help="like 90s, 10m, 1h, 2d")
    takes_json(parser)


COMMAND = Command(_snooze, span_arguments, examples="  upcall snooze a7 1h")
