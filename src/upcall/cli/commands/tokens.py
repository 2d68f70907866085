"""`upcall tokens`: credentials for agents and people, made once and shown once."""

import sys
import time
from argparse import ArgumentParser, Namespace
from urllib.parse import quote

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json
from upcall.cli.render.terminal import paint
from upcall.domain.text.times import since

ROLES = ("agent", "person", "admin", "monitor")


def _create(args: Namespace) -> int:
    made = Client().post("/v1/tokens", {"name": args.name, "role": args.role})
    if args.json:
        print_json(made)
        return 0
    print(made["token"], flush=True)
    if sys.stdout.isatty():
        print("Keep it: it is not shown again. Use it as UPCALL_TOKEN, beside UPCALL_URL.", file=sys.stderr)
    return 0


def _list(args: Namespace) -> int:
    listed = Client().get("/v1/tokens")
    if args.json:
        print_json(listed)
        return 0
    items = listed["items"]
    longest = max((len(token["name"]) for token in items), default=0)
    now, colour = time.time(), paint()
    for token in items:
        made = f"made {since(token['created_at'], now)} ago"
        print(f"{colour.name(token['name'].ljust(longest))}  {token['role']:<7}  {colour.dim(made)}")
    return 0


def _revoke(args: Namespace) -> int:
    gone = Client().delete(f"/v1/tokens/{quote(args.name, safe='')}")
    if args.json:
        print_json(gone)
    else:
        print(f"Revoked {args.name}: it is no longer valid.")
    return 0


def _tokens(args: Namespace) -> int:
    return {"create": _create, "list": _list, "revoke": _revoke}[args.action](args)


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = actions.add_parser("create", help="make a token and print it, alone, on standard output")
    create.add_argument(
        "--role",
        choices=ROLES,
        required=True,
        help="agents ask, people answer, admins manage, monitors read metrics",
    )
    create.add_argument(
        "--name", required=True, help="the holder of the token; agents are known by this name"
    )
    listing = actions.add_parser("list", help="every token, without its secret")
    revoke = actions.add_parser("revoke", help="make a token invalid at once")
    revoke.add_argument("name", metavar="NAME")
    for action in (create, listing, revoke):
        action.add_argument("--json", action="store_true", help="print JSON")


COMMAND = Command(
    _tokens,
    _arguments,
    alone=("list",),
    examples="""\
  export UPCALL_TOKEN=$(upcall tokens create --role agent --name build-bot)
  upcall tokens list
  upcall tokens revoke build-bot""",
)
