"""Channels that do not work, as lines on a terminal: since when, why, and what to do."""

from typing import Any, NamedTuple

from upcall.cli.client import Client
from upcall.cli.failures import DaemonRefused, spelled
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import one_line
from upcall.domain.text.times import since

Fault = dict[str, Any]
CANNOT = {"sending": "cannot send", "listening": "cannot be heard", "off": "is off"}


class Down(NamedTuple):
    """A channel and its failures."""

    name: str
    faults: list[Fault]


def channels_down(client: Client) -> list[Down]:
    """The channels that do not work; none if the token may not see them."""
    try:
        listed = client.get("/v1/channels")["items"]
    except DaemonRefused as error:
        if error.reply == "not_allowed":
            return []
        raise
    return [Down(item["name"], item["faults"]) for item in listed if item.get("faults")]


def fault_lines(down: Down, now: float, paint: Paint, margin: str = "  ") -> list[str]:
    """The failures of a channel, each with its next step."""
    lines: list[str] = []
    for fault in down.faults:
        told = f"{CANNOT[fault['side']]} for {since(fault['since'], now)} (since {fault['since']}): "
        lines.append(f"{margin}{paint.name(down.name)} {paint.bad(told + one_line(fault['problem']))}")
        lines.append(f"{margin}  Next: {one_line(spelled(fault['hint']))}")
    return lines
