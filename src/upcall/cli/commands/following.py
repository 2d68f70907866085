"""Follows a run to its end: what it writes, and what it asks with the command that answers it."""

import sys
import threading
from collections import Counter

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.commands.log import log_lines, shown
from upcall.cli.render.details import question_lines
from upcall.cli.render.inquiries import Inquiry, answer_command, name_of
from upcall.cli.render.runs import OVER, Run
from upcall.cli.render.terminal import Paint, paint, width
from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.home.files import default_home

POLL_SECONDS = 60.0
WIDEST = 100
LAST_LINES_WITHIN = 10.0
"""Seconds for the last lines to be printed once the run is over."""


def follow(client: Client, number: int) -> Run:
    """Tell on standard error what a run does until it is over, and return it as it then is."""
    lines = threading.Thread(target=_print_log, args=(Client(client.role, client.home), number), daemon=True)
    lines.start()
    told: set[str] = set()
    after = client.latest_event()
    while True:
        run: Run = client.get(run_path(number))
        news = [ref for ref in run["inquiries"] if ref not in told]
        for ref in news:
            _print_question(client.get(inquiry_path(ref)), run)
        told |= set(news)
        if run["state"] in OVER:
            lines.join(LAST_LINES_WITHIN)
            return run
        after = _next_news(client, number, after)


def _next_news(client: Client, number: int, after: int) -> int:
    """Wait until something has happened that may concern a run."""
    while True:
        events = client.get("/v1/events", patience=POLL_SECONDS, after=after, wait=f"{POLL_SECONDS:g}")
        after = events["next_after"]
        if any(event["inquiry"] or event["data"].get("run") == number for event in events["items"]):
            return after


def _print_log(client: Client, number: int) -> None:
    colour = paint(sys.stderr)
    try:
        for line in log_lines(client, number, follow=True):
            _say(shown(line, colour))
    except UpcallError:
        # Whoever follows the run itself meets the same trouble, and tells it.
        return


def _print_question(inquiry: Inquiry, run: Run) -> None:
    colour = paint(sys.stderr)
    room = min(width(sys.stderr) or WIDEST, WIDEST)
    ring = "\a" if sys.stderr.isatty() and _has_bell() else ""
    _say(ring + "\n".join(_question(inquiry, run, colour, room)))


def _has_bell() -> bool:
    """Whether the owner of this terminal wants to hear of questions; settings that are wrong are told elsewhere."""
    from upcall.config.settings import load

    try:
        return load(default_home()).notifications.terminal_bell
    except InvalidSetting:
        return False


def _question(inquiry: Inquiry, run: Run, colour: Paint, room: int) -> list[str]:
    name = name_of(inquiry, Counter({run["number"]: len(run["inquiries"])}))
    return [
        "",
        colour.bold("QUESTION:"),
        *question_lines(inquiry, colour, room),
        "",
        f"  Answer with: {colour.name(answer_command(inquiry, name))}",
        "",
    ]


def _say(text: str) -> None:
    # In one piece, since two threads speak.
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
