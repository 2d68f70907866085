"""`upcall status`: what waits, what works, and what was settled today."""

import time
from argparse import Namespace
from typing import Any

from upcall.cli.client import PAGE, Client, with_query
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.channel_health import channels_down, fault_lines
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.inquiries import without_secrets
from upcall.cli.render.status import Status, status_lines
from upcall.cli.render.terminal import paint, width
from upcall.domain.text.times import moment
from upcall.home.program import program

DONE_SHOWN = 20
AT_WORK = ("running", "waiting_input", "queued")


def _status(args: Namespace) -> int:
    client = Client()
    now = time.time()
    limit = PAGE if args.json else DONE_SHOWN
    first, closed, latest, *at_work = client.get_each(
        with_query("/v1/inquiries", state="open", limit=PAGE),
        with_query("/v1/inquiries", state="closed", limit=limit),
        with_query("/v1/runs", limit=limit),
        *(with_query("/v1/runs", state=state, limit=PAGE) for state in AT_WORK),
    )
    waiting, more = _waiting(client, first, everything=args.json)
    asking, running = _at_work([run for page in at_work for run in page["items"]])
    done = _done_since(_midnight(now), closed["items"], latest["items"])[:limit]
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
        print(f"\nThese are the oldest {len(waiting)} questions; `{program()} status --json` has them all.")
    return 0


def _midnight(now: float) -> float:
    """When today began in the time zone of this machine."""
    here = time.localtime(now)
    return time.mktime((here.tm_year, here.tm_mon, here.tm_mday, 0, 0, 0, 0, 0, -1))


def _at_work(found: list[dict[str, Any]]) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """The runs that ask something, by number, and the others that are not over, those first that wait longest."""
    # A run may have gone from one state to the next between two looks.
    runs = {run["number"]: run for run in found}
    asking = {number: run for number, run in runs.items() if run["inquiries"]}
    return asking, [run for number, run in sorted(runs.items()) if number not in asking]


def _waiting(client: Client, page: dict[str, Any], *, everything: bool) -> tuple[list[dict[str, Any]], bool]:
    items: list[dict[str, Any]] = page["items"]
    while everything and page["next"]:
        page = client.get("/v1/inquiries", state="open", limit=PAGE, cursor=page["next"])
        items += page["items"]
    return items, bool(page["next"])


def _done_since(
    start: float, closed: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The questions and the runs that were settled since then, the latest first."""
    ended = [(moment(inquiry["resolution"]["at"]), without_secrets(inquiry)) for inquiry in closed]
    ended += [(moment(run["ended_at"]), run) for run in runs if run["ended_at"]]
    ended.sort(key=lambda each: each[0], reverse=True)
    return [document for at, document in ended if at >= start]


COMMAND = Command(
    _status,
    takes_json,
    examples="  upcall status\n  upcall status --json | jq -r '.waiting[].ref'",
)
