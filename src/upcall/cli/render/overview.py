"""What waits and what to do next, in two lines: for `upcall` alone. Nothing is started for it."""

from typing import Any

from upcall.cli.client import Client
from upcall.cli.render.inquiries import asker
from upcall.cli.render.terminal import width
from upcall.domain.errors import UpcallError
from upcall.domain.text.display import one_line
from upcall.home.program import program

AT_WORK = ("running", "waiting_input", "queued")


def state() -> list[str]:
    """What waits, and the command to go on with."""
    client = Client()
    if not client.remote and not client.home.running():
        return _down(client)
    try:
        waiting = client.get("/v1/inquiries", state="open", limit=200)
        working = sum(len(client.get("/v1/runs", state=each, limit=200)["items"]) for each in AT_WORK)
    except UpcallError as error:
        return [f"It cannot be reached: {error.message}.", f"Next: {program()} doctor"]
    return _up(waiting, working)


def _down(client: Client) -> list[str]:
    if client.home.database_file.exists():
        return ["It is not running; what was asked is kept.", f"Next: {program()} status, which starts it"]
    return [
        "Nothing was asked yet.",
        f"Next: {program()} demo, or connect your agent: {program()} setup claude",
    ]


def _up(waiting: dict[str, Any], working: int) -> list[str]:
    found = waiting["items"]
    if found:
        first = found[0]
        count = f"{len(found)}{'+' if waiting['next'] else ''}"
        waits = (
            f"{count} question{' waits' if len(found) == 1 else 's wait'}. #{first['ref']} {asker(first)}: "
        )
        line = one_line(waits + one_line(first["questions"][0]["question"]), width())
        return [line, f"Next: {program()} answer" + (f" {first['ref']}" if len(found) == 1 else "")]
    if working:
        at_work = "An agent is" if working == 1 else f"{working} agents are"
        return [f"Nothing waits for you. {at_work} at work.", f"Next: {program()} runs"]
    return [
        "Nothing waits for you.",
        f'Next: {program()} inbox, or start an agent: {program()} run claude "task"',
    ]
