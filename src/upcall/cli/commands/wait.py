"""`upcall wait`: waits for a question that was asked before. `upcall ask` waits with the same code."""

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from upcall.cli.client import ASKER, PERSON, Client, inquiry_path
from upcall.cli.command import Command, print_json, seconds, takes_json, takes_ref
from upcall.cli.failures import DaemonRefused, Unreachable
from upcall.cli.render.inquiries import is_denied
from upcall.domain.errors import UpcallError
from upcall.domain.text.display import one_line, visible
from upcall.domain.text.times import moment, span, waiting
from upcall.home.program import program

INTERRUPTED = 130
EXITS = {"answered": 0, "rejected": 10, "expired": 11, "parked": 12, "cancelled": 13, "failed": 14}
DENIED = 10
SLICE = 60.0
PAUSE, LONGEST_PAUSE = 0.2, 5.0
BLOCK = 30 * 60.0
BY_POLICY = "policy"
"""Who decides where no person did, as `lifecycle.POLICY` has it, whose module takes too long to load."""

EXIT_CODES = """\
exit codes: 0 answered, 10 rejected or denied, 11 expired, 12 parked (no answer yet, it stays open),
            13 cancelled, 14 failed, 2 wrong use"""


def _wait(args: Namespace) -> int:
    client, inquiry = found(args.ref)
    return finish(client, inquiry, args)


def _arguments(parser: ArgumentParser) -> None:
    takes_ref(parser)
    wait_options(parser)


def wait_options(parser: ArgumentParser) -> None:
    """Take how long to wait, and how to print."""
    parser.add_argument(
        "--timeout",
        type=_timeout,
        metavar="SPAN",
        help="how long to wait before the question is parked: 10m (30m by default)",
    )
    takes_json(parser)


def found(ref: str) -> tuple[Client, dict[str, Any]]:
    """An inquiry with the asker's token, or with the owner's where another agent asked it."""
    client = Client(ASKER)
    try:
        return client, client.get(inquiry_path(ref))
    except DaemonRefused as refusal:
        if refusal.status != 404 or client.remote:
            raise
    client = Client(PERSON)
    return client, client.get(inquiry_path(ref))


def finish(client: Client, inquiry: dict[str, Any], args: Namespace, introduction: str = "") -> int:
    """Wait until a question is settled, print its answer and return the exit code."""
    block = 0.0
    try:
        _say(introduction)
        block = _block_timeout(client) if args.timeout is None else args.timeout
        inquiry = _until_settled(client, inquiry, time.monotonic() + block)
    except KeyboardInterrupt:
        _say(f"\nDetached: {inquiry['ref']} stays open. Next: {program()} wait {inquiry['ref']}")
        return INTERRUPTED
    status = "parked" if inquiry["state"] == "open" else inquiry["state"]
    _report(inquiry, status, block, as_json=args.json)
    if status == "answered":
        _acknowledge(client, inquiry)
    return DENIED if is_denied(inquiry) else EXITS[status]


def _until_settled(client: Client, inquiry: dict[str, Any], deadline: float) -> dict[str, Any]:
    """Wait until the inquiry is settled, the deadline has passed or Upcall is down; return its last state."""
    pause = PAUSE
    while inquiry["state"] == "open" and not client.put_down():
        left = min(deadline - time.monotonic(), SLICE)
        if left <= 0:
            break
        began = time.monotonic()
        try:
            inquiry = client.get(inquiry_path(inquiry["id"], "wait"), patience=left, timeout=f"{left:.3f}")
            if inquiry["state"] != "open" or time.monotonic() - began >= left - 1:
                pause = PAUSE
                continue
        except Unreachable:
            pass
        # The daemon is stopping or gone; the next request finds it again.
        client.hang_up()
        time.sleep(max(min(pause, deadline - time.monotonic()), 0))
        pause = min(pause * 2, LONGEST_PAUSE)
    return inquiry


def _report(inquiry: dict[str, Any], status: str, block: float, *, as_json: bool) -> None:
    answers = inquiry["answer"]["answers"] if status == "answered" else None
    if as_json:
        print_json({**inquiry, "status": status, "answers": answers, "waited_seconds": _took(inquiry)})
    elif status == "answered" and "content" in inquiry["answer"]:
        print(json.dumps(inquiry["answer"]["content"], ensure_ascii=False), flush=True)
    else:
        for value in [value for values in answers or [] for value in values]:
            print(value)
        sys.stdout.flush()
    _say(_note(inquiry, status, block))


def _note(inquiry: dict[str, Any], status: str, block: float) -> str:
    closing = inquiry["resolution"] or {}
    why = f": {one_line(closing['reason'])}" if closing.get("reason") else ""
    match status:
        case "answered":
            if closing["via"] == "default":
                return f"{inquiry['ref']} got no answer in time; this is the default."
            return _beside(inquiry)
        case "parked":
            waited = f" after {span(block)}" if block else ""
            return (
                f"No answer yet{waited}: {inquiry['ref']} is parked and stays open. "
                f"Next: {program()} wait {inquiry['ref']}"
            )
        case "expired":
            denied = "; this is a denial" if inquiry["kind"] == "approval" else ""
            return f"{inquiry['ref']} expired without an answer{denied}."
        case "rejected":
            told = f"{inquiry['ref']} was rejected by {one_line(closing['by'])}{why}"
            return "\n".join([told, *_waiting(inquiry, "declined")])
        case _:
            return f"{inquiry['ref']} was {status} by {one_line(closing['by'])}{why}"


def _beside(inquiry: dict[str, Any]) -> str:
    """What goes with an answer: the note, and how long the person took if an agent could take that for its own time."""
    note = inquiry["answer"].get("note")
    lines = [f"Their note: {visible(note)}"] if note else []
    return "\n".join(lines + _waiting(inquiry, "answered"))


def _waiting(inquiry: dict[str, Any], done: str) -> list[str]:
    took = waiting(done, _took(inquiry))
    return [f"({took})"] if took else []


def _took(inquiry: dict[str, Any]) -> float | None:
    """How many seconds a person took to decide; None while it is open, or where no person did."""
    closing = inquiry["resolution"]
    if closing is None or inquiry["state"] not in {"answered", "rejected"} or closing["by"] == BY_POLICY:
        return None
    return round(max(moment(closing["at"]) - moment(inquiry["asked_at"]), 0.0), 3)


def _acknowledge(client: Client, inquiry: dict[str, Any]) -> None:
    """Report that the answer has arrived. A failure to report changes nothing for the asker."""
    if client.role != ASKER or inquiry["answer"]["collected_at"]:
        return
    try:
        client.post(inquiry_path(inquiry["id"], "collect"), {})
    except UpcallError:
        return


def _block_timeout(client: Client) -> float:
    if client.remote:
        return BLOCK
    from upcall.config.settings import load

    try:
        return load(client.home).block_timeout
    except UpcallError:
        return BLOCK


def _timeout(word: str) -> float:
    if word.strip() in {"0", "0s"}:
        return 0.0
    try:
        return seconds(word)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; 0 does not wait at all") from None


def _say(text: str) -> None:
    if text:
        print(text, file=sys.stderr, flush=True)


COMMAND = Command(
    _wait, _arguments, examples=f"  upcall wait a7\n  upcall wait a7 --timeout 2h\n{EXIT_CODES}"
)
