"""`upcall status` and `upcall show`: what there is, as facts read from the store."""

import json
import sys
import time
from argparse import Namespace
from typing import Any

from upcall.cli.client import Client, inquiry_path
from upcall.cli.command import Command, takes_json, takes_ref
from upcall.cli.render import status_lines, without_secrets
from upcall.cli.terminal import paint, width
from upcall.cli.times import midnight, moment

PAGE = 200
DONE_SHOWN = 20


def _status(args: Namespace) -> int:
    client = Client()
    now = time.time()
    waiting, more = _waiting(client, everything=args.json)
    done = _done_since(client, midnight(now), PAGE if args.json else DONE_SHOWN)
    if args.json:
        document = {"waiting": waiting, "running": [], "done": [without_secrets(inquiry) for inquiry in done]}
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    print("\n".join(status_lines(waiting, done, now, paint(), width())))
    if more:
        print(f"\nThese are the oldest {len(waiting)}; `upcall status --json` has them all.")
    return 0


def _waiting(client: Client, *, everything: bool) -> tuple[list[dict[str, Any]], bool]:
    page = client.get("/v1/inquiries", state="open", limit=PAGE)
    items: list[dict[str, Any]] = page["items"]
    while everything and page["next"]:
        page = client.get("/v1/inquiries", state="open", limit=PAGE, cursor=page["next"])
        items += page["items"]
    return items, bool(page["next"])


def _done_since(client: Client, start: float, limit: int) -> list[dict[str, Any]]:
    page = client.get("/v1/inquiries", state="closed", limit=limit)
    return [inquiry for inquiry in page["items"] if moment(inquiry["resolution"]["at"]) >= start]


def _show(args: Namespace) -> int:
    inquiry = without_secrets(Client().get(inquiry_path(args.ref)))
    if args.json:
        print(json.dumps(inquiry, indent=2, ensure_ascii=False))
        return 0
    from upcall.cli.details import detail_lines

    print("\n".join(detail_lines(inquiry, time.time(), paint(), width())))
    return 0


def _show_arguments(parser: Any) -> None:
    takes_ref(parser)
    takes_json(parser)


def _refs(args: Namespace) -> int:
    """For completion: never starts a daemon, never complains."""
    client = Client()
    if client.remote or client.home.running():
        try:
            waiting, _ = _waiting(client, everything=False)
        # Completion has nothing to say about failures; it only has nothing to offer.
        except Exception:  # noqa: BLE001
            return 0
        sys.stdout.writelines(f"{inquiry['ref']}\n" for inquiry in waiting)
    return 0


COMMANDS = {
    "status": Command(
        _status,
        takes_json,
        examples="  upcall status\n  upcall status --json | jq -r '.waiting[].ref'",
    ),
    "show": Command(_show, _show_arguments, examples="  upcall show a7\n  upcall show a7 --json"),
    "refs": Command(_refs),
}
