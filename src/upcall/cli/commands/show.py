"""`upcall show`: one question or one run, with everything that belongs to it."""

import time
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.command import Command, is_run, print_json, takes_json, takes_ref
from upcall.cli.render.channel_health import channels_down, fault_lines
from upcall.cli.render.details import detail_lines, run_lines
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.inquiries import without_secrets
from upcall.cli.render.terminal import paint, width
from upcall.ports.branches import branch_of


def _show(args: Namespace) -> int:
    if is_run(args.ref):
        return _show_run(Client(), args)
    client = Client()
    inquiry = without_secrets(client.get(inquiry_path(args.ref)))
    if args.json:
        print_json(inquiry)
        return 0
    print("\n".join(detail_lines(inquiry, time.time(), paint(), width())))
    failed = {delivery["channel"] for delivery in inquiry["delivery"] if delivery["error"]}
    if failed and inquiry["state"] == "open":
        down = [channel for channel in channels_down(client) if channel.name in failed]
        print("\n".join(["", *(line for each in down for line in fault_lines(each, time.time(), paint()))]))
    return 0


def _show_run(client: Client, args: Namespace) -> int:
    run = client.get(run_path(args.ref))
    if args.json:
        print_json(run)
        return 0
    asked = [client.get(inquiry_path(ref)) for ref in run["inquiries"]]
    if not client.remote:
        run["branch"] = branch_of(run["cwd"])
    print("\n".join(run_lines(run, asked, time.time(), paint(), width(), drawing_for(client))))
    return 0


def _arguments(parser: ArgumentParser) -> None:
    takes_ref(parser, or_run=True)
    takes_json(parser)


COMMAND = Command(
    _show,
    _arguments,
    examples="  upcall show a7\n  upcall show a7 --json\n  upcall show 42                   a run",
)
