"""`upcall rules`: remembered approvals, by which agents act without asking."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any
from urllib.parse import quote

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, seconds, takes_json
from upcall.cli.render.terminal import paint
from upcall.domain.text.display import one_line
from upcall.domain.text.times import moment, since, span
from upcall.home.program import program

Rule = dict[str, Any]


def _list(args: Namespace) -> int:
    items = Client().every("/v1/rules")
    if args.json:
        print_json({"items": items, "next": None})
        return 0
    if not items:
        print(
            f"There are no rules. Add one while you approve: `{program()} answer REF approve --always exact`."
        )
    now, colour = time.time(), paint()
    for rule in items:
        print(f"{colour.name(rule['id'])}  {_sentence(rule)}  {colour.dim(_life(rule, now))}")
    return 0


def _show(args: Namespace) -> int:
    rule = Client().get(_path(args.id))
    if args.json:
        print_json(rule)
        return 0
    now = time.time()
    print(f"Rule {rule['id']}: {_sentence(rule)}")
    print(f"Made: {since(rule['made_at'], now)} ago by {one_line(rule['by'])}")
    if rule["inquiry"]:
        print(f"From: {one_line(rule['shown'])} ({rule['inquiry']})")
    print(f"Life: {_life(rule, now)}")
    if rule["sha256"]:
        print(f"SHA-256: {rule['sha256']}")
    return 0


def _add(args: Namespace) -> int:
    names = ("agent", "tool", "directory", "prefix")
    body = {name: getattr(args, name) for name in names if getattr(args, name)}
    rule = Client().post("/v1/rules", body | ({"for": args.span} if args.span else {}))
    if args.json:
        print_json(rule)
    else:
        print(f"Made {rule['id']}: {_sentence(rule)}, {_life(rule, time.time())}.")
    return 0


def _revoke(args: Namespace) -> int:
    gone = Client().delete(_path(args.id))
    if args.json:
        print_json(gone)
    else:
        print(f"Revoked {args.id}: it is no longer valid.")
    return 0


def _sentence(rule: Rule) -> str:
    """The actions that a rule allows, in one line."""
    who = one_line(rule["agent"] or "any agent")
    tool = one_line(rule["tool"] or "any tool")
    place = f" in {one_line(rule['directory'])}" if rule["directory"] else ""
    match rule["as"]:
        case "exact":
            return f"{who} may do exactly: {one_line(rule['shown'], 60)}"
        case "prefix":
            return f"{who} may run: {one_line(rule['prefix'])} …{place}"
        case _:
            return f"{who} may use {tool}{place}"


def _life(rule: Rule, now: float) -> str:
    left = moment(rule["expires_at"]) - now
    return f"for {span(left)}" if rule["active"] else "expired"


def _path(name: str) -> str:
    return f"/v1/rules/{quote(name, safe='')}"


def _rules(args: Namespace) -> int:
    return {"list": _list, "show": _show, "add": _add, "revoke": _revoke}[args.what](args)


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", required=True, metavar="list|show|add|revoke")
    listing = actions.add_parser("list", help="every rule, the newest first")
    show = actions.add_parser("show", help="one rule: who made it, when, and from which approval")
    add = actions.add_parser("add", help="add a rule; it allows actions that meet all its conditions")
    revoke = actions.add_parser("revoke", help="end a rule at once")
    for action in (show, revoke):
        action.add_argument("id", metavar="ID", help="the id that `upcall rules list` shows first")
    add.add_argument("--agent", metavar="NAME", help="only this agent; without it, any agent")
    add.add_argument("--tool", metavar="NAME", help="only this tool, as the agent calls it")
    add.add_argument("--directory", metavar="DIR", help="only in this directory and below; absolute")
    add.add_argument("--prefix", metavar="WORDS", help="only a simple command that begins with these words")
    add.add_argument("--for", dest="span", metavar="SPAN", type=seconds, help="how long it holds (30d)")
    for action in (listing, show, add, revoke):
        takes_json(action)


COMMAND = Command(
    _rules,
    _arguments,
    alone=("list",),
    examples="""\
  upcall rules list
  upcall rules add --agent claude --prefix "npm test" --directory /home/ana/project --for 7d
  upcall rules revoke r1a2b3c4d""",
)
