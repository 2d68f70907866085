"""`upcall people`: people who may answer in channels."""

import sys
import time
from argparse import ArgumentParser, Namespace
from typing import Any
from urllib.parse import quote

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.terminal import paint
from upcall.domain.text.display import one_line
from upcall.domain.text.times import since
from upcall.home.program import program


def _add(args: Namespace) -> int:
    body = {"name": args.name}
    if args.identity:
        channel, _, user = args.identity.partition(":")
        body |= {"channel": channel, "user": user}
    added = Client().post("/v1/people", body)
    if args.json:
        print_json(added)
    elif args.identity:
        print(f"{args.name} can answer as {args.identity}.")
    else:
        print(added["code"], flush=True)
        _explain(args.name, added.get("apps", []))
    return 0


def _explain(name: str, apps: list[dict[str, Any]]) -> None:
    """Say to which app the code goes."""
    if not apps:
        print(
            f"No channel is on that could take it. Next: `{program()} channels add slack`, or another vendor, then a new code",
            file=sys.stderr,
        )
        return
    to = "one of these apps" if len(apps) > 1 else "this app"
    print(
        f"Valid once, for ten minutes. {name} sends it, and nothing else, in a direct message to {to}:",
        file=sys.stderr,
    )
    for app in apps:
        account = one_line(app["account"]) if app["account"] else "the app there; it cannot be reached now"
        print(f"  {app['channel']}: {account}", file=sys.stderr)


def _list(args: Namespace) -> int:
    listed = Client().get("/v1/people")
    if args.json:
        print_json(listed)
        return 0
    if not listed["items"]:
        print(f"No person can answer in channels yet. Add one with `{program()} people add NAME`.")
    now, colour = time.time(), paint()
    for person in listed["items"]:
        names = [one_line(f"{each['channel']}:{each['user']}") for each in person["identities"]]
        where = ", ".join(names) or "has not joined yet"
        added = colour.dim(f"added {since(person['added_at'], now)} ago")
        print(f"{colour.name(person['name'])}  {where}  {added}")
    return 0


def _remove(args: Namespace) -> int:
    gone = Client().delete(f"/v1/people/{quote(args.name, safe='')}")
    if args.json:
        print_json(gone)
    else:
        print(f"{args.name} cannot answer in channels any more.")
    return 0


def _people(args: Namespace) -> int:
    return {"add": _add, "list": _list, "remove": _remove}[args.what](args)


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", required=True, metavar="add|list|remove")
    add = actions.add_parser("add", help="let a person answer: prints a code for them to send to the app")
    add.add_argument("name", metavar="NAME", help="the name that agents and other people see")
    add.add_argument("--identity", metavar="CHANNEL:ID", help="their id in a channel, if you know it")
    listing = actions.add_parser("list", help="all people, and where they have joined")
    remove = actions.add_parser("remove", help="stop a person from answering, at once")
    remove.add_argument("name", metavar="NAME")
    for action in (add, listing, remove):
        takes_json(action)


COMMAND = Command(
    _people,
    _arguments,
    alone=("list",),
    examples="""\
  upcall people add ana
  upcall people add ana --identity slack:U0123456789
  upcall people remove ana""",
)
