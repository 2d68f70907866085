"""`upcall channels`: where people answer beside the inbox, and whether it works."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any
from urllib.parse import quote

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, seconds, takes_json
from upcall.cli.failures import spelled
from upcall.cli.render.channel_health import Down, fault_lines
from upcall.cli.render.terminal import paint
from upcall.domain.text.display import one_line
from upcall.home.program import program

WAIT_SECONDS = 20.0


def _list(args: Namespace) -> int:
    listed = Client().get("/v1/channels")
    if args.json:
        print_json(listed)
        return 0
    if not listed["items"]:
        print(
            f"No channel is set up, only the inbox. Add one with `{program()} channels add slack`, or another vendor."
        )
    colour = paint()
    for channel in listed["items"]:
        print(f"{colour.name(channel['name'])}  {', '.join(channel['places']) or 'no route leads there'}")
        for line in fault_lines(Down(channel["name"], channel["faults"]), time.time(), colour):
            print(line)
    return 0


def _test(args: Namespace) -> int:
    client = Client()
    body = {"place": args.place} if args.place else {}
    tried = client.post(f"/v1/channels/{quote(args.name, safe='')}/test", body)
    asked = tried["inquiry"] is not None
    delivery = _delivered(client, tried["inquiry"], args.within) if asked else None
    shown = delivery is not None and delivery["shown_at"] is not None
    well = all(finding["ok"] for finding in tried["findings"]) and (shown or not asked)
    if args.json:
        print_json(tried | {"delivery": delivery})
        return 0 if well else 1
    for finding in tried["findings"]:
        print(f"{'✓' if finding['ok'] else '✗'} {one_line(finding['text'])}")
        if finding["hint"]:
            print(f"  Next: {one_line(spelled(finding['hint']))}")
    if shown:
        print(f"✓ a question is shown in {tried['place']}: answer it there")
    elif asked:
        why = (delivery or {}).get("error") or f"nothing was shown within {args.within:g} seconds"
        print(f"✗ {tried['place']}: {one_line(why)}")
        print(
            f"  Next: the question is kept, and shown as soon as the vendor takes it; `{program()} channels list`"
        )
    elif well:
        print("No route leads to this channel, so no question was sent. Name a place with --place.")
    return 0 if well else 1


def _delivered(client: Client, inquiry: str, within: float) -> dict[str, Any] | None:
    """Wait until a question is shown or refused in its place, or until a timeout; return its last delivery."""
    end, after = time.monotonic() + within, client.latest_event()
    while True:
        shown = client.get(f"/v1/inquiries/{inquiry}")["delivery"]
        found: dict[str, Any] | None = next(iter(shown), None)
        left = end - time.monotonic()
        final = found is not None and (found["shown_at"] or (found["error"] and not found.get("busy")))
        if final or left <= 0:
            return found
        after = client.get("/v1/events", patience=left, after=after, wait=round(left, 3))["next_after"]


def _add(args: Namespace) -> int:
    from upcall.cli.channel_adding import add

    return add(args)


def _channels(args: Namespace) -> int:
    return {"add": _add, "list": _list, "test": _test}[args.what](args)


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", required=True, metavar="add|list|test")
    add = actions.add_parser(
        "add", help="ask for the secrets of a channel, check them with its vendor, and write them"
    )
    add.add_argument(
        "name", metavar="VENDOR", help="slack, telegram, …; or the name of a channel in upcall.toml"
    )
    add.add_argument("--kind", help="the vendor, for a channel with a name of your own")
    add.add_argument(
        "--keyring", action="store_true", help="keep the secrets in the system's keyring, not in secrets.toml"
    )
    listing = actions.add_parser("list", help="every channel, and where routes lead in it")
    test = actions.add_parser("test", help="check a channel and ask a question there")
    test.add_argument("name", metavar="NAME")
    test.add_argument("--place", metavar="ID", help="where to ask; without it, the first place of a route")
    test.add_argument(
        "--within",
        type=seconds,
        default=WAIT_SECONDS,
        metavar="TIME",
        help="how long the vendor may take (20s)",
    )
    for action in (listing, test):
        takes_json(action)


COMMAND = Command(
    _channels,
    _arguments,
    alone=("list",),
    examples="""\
  upcall channels add slack                  asks for the tokens without echo
  upcall channels add work --kind slack      a second Slack, under a name of its own
  upcall channels list
  upcall channels test slack
  upcall channels test slack --place U0123456789
Exit codes: 0 if the channel works, 1 if something fails or the question is not shown in time""",
)
