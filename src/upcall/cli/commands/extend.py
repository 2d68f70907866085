"""`upcall extend`: gives a question more time."""

import time
from argparse import Namespace

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command
from upcall.cli.commands.answer import asked_by, settled
from upcall.cli.commands.snooze import span_arguments
from upcall.domain.text.times import moment, span


def _extend(args: Namespace) -> int:
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "extend"), {"seconds": args.span})
    left = span(moment(reply["inquiry"]["expires_at"]) - time.time() + 0.5)
    return settled(reply, args, f"Extended {args.ref}: it expires in {left}.")


COMMAND = Command(_extend, span_arguments, examples="  upcall extend a7 2d")
