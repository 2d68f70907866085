"""`upcall status`: what waits, what works, and what was settled today."""

import time
from argparse import Namespace
from typing import Any

from upcall.cli.client import PAGE, Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.channel_health import channels_down, fault_lines
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.inquiries import without_secrets
from upcall.cli.render.status import Status, status_lines
from upcall.cli.render.terminal import paint, width
from upcall.domain.text.times import moment

DONE_SHOWN = 20


def _status(args: Namespace) -> int:
    client = Client()
    now = time.time()
    waiting, more = _waiting(client, everything=args.json)
    asking, running = _at_work(client)
    done = _done_since(client, _midnight(now), PAGE if args.json else DONE_SHOWN)
    status = Status(waiting, running, done, asking)
    down = channels_down(client)
    if args.json:
        broken = [{"name": channel.name, "faults": channel.faults} for channel in down]
        shown = {"waiting": waiting, "running": running, "done": done, "channels": broken}
        print_json(shown)
        return 0
    print("\n".join(status_lines(status, now, paint(), width(), drawing_for(client))))
    if down:
        print("\n" + paint().bold("CHANNELS THAT DO NOT WORK:"))
        print("\n".join(line for channel in down for line in fault_lines(channel, now, paint())))
    if more:
        print(f"\nThese are the oldest {len(waiting)} questions; `upcall status --json` has them all.")
    return 0


def _midnight(now: float) -> float:
    """When today began in the time zone of this machine."""
    here = time.localtime(now)
    return time.mktime((here.tm_year, here.tm_mon, here.tm_mday, 0, 0, 0, 0, 0, -1))


def _at_work(client: Client) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """The runs that ask something, by number, and the others that are not over, those first that wait longest."""
    found: list[dict[str, Any]] = []
    for state in ("running", "waiting_input", "queued"):
        found += client.get("/v1/runs", state=state, limit=PAGE)["items"]
    # A run may have gone from one state to the next between two looks.
    runs = {run["number"]: run for run in found}
    asking = {number: run for number, run in runs.items() if run["inquiries"]}
    return asking, [run for number, run in sorted(runs.items()) if number not in asking]


def _waiting(client: Client, *, everything: bool) -> tuple[list[dict[str, Any]], bool]:
    page = client.get("/v1/inquiries", state="open", limit=PAGE)
    items: list[dict[str, Any]] = page["items"]
    while everything and page["next"]:
        page = client.get("/v1/inquiries", state="open", limit=PAGE, cursor=page["next"])
        items += page["items"]
    return items, bool(page["next"])


def _done_since(client: Client, start: float, limit: int) -> list[dict[str, Any]]:
    """The questions and the runs that were settled since then, the latest first."""
    closed = client.get("/v1/inquiries", state="closed", limit=limit)["items"]
    runs = client.get("/v1/runs", limit=limit)["items"]
    ended = [(moment(inquiry["resolution"]["at"]), without_secrets(inquiry)) for inquiry in closed]
    ended += [(moment(run["ended_at"]), run) for run in runs if run["ended_at"]]
    ended.sort(key=lambda each: each[0], reverse=True)
    return [document for at, document in ended if at >= start][:limit]


COMMAND = Command(
    _status,
    takes_json,
    examples="  upcall status\n  upcall status --json | jq -r '.waiting[].ref'",
)
