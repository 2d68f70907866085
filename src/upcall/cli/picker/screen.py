"""`upcall answer` without arguments: the picker on a real terminal, kept up to date while it is open."""

import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from upcall.cli.client import LATEST, Client, inquiry_path
from upcall.cli.failures import CommandFailed, line
from upcall.cli.picker.drawing import Size, outcome, screen
from upcall.cli.picker.keys import keys
from upcall.cli.picker.picker import Decline, Extend, Leave, Picker, Send, Undo
from upcall.cli.render.fate import fate
from upcall.cli.render.inquiries import given, resolution
from upcall.cli.render.terminal import paint
from upcall.domain.errors import UpcallError
from upcall.domain.text.times import moment, span
from upcall.home.program import program

POLL_SECONDS = 30.0
PAUSE = 1.0
AGES_SECONDS = 30.0
"""Seconds after which the screen is drawn again, since it shows ages."""

ENTER_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[?2004h"
LEAVE_SCREEN = "\x1b[?2004l\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def pick(client: Client, ref: str | None) -> int:
    """Let a person pick questions and answer them until they leave."""
    picker = Picker(_waiting(client))
    if ref is not None and not picker.open(ref):
        inquiry = client.get(inquiry_path(ref))
        raise CommandFailed(
            f"{inquiry['ref']} does not wait for an answer", hint=f"upcall show {inquiry['ref']}"
        )
    told: list[str] = []
    with _terminal(), _news(client) as news:
        _converse(client, picker, news, told)
    # What was done stays to be read after the screen has gone.
    for sentence in told:
        print(sentence)
    return 0


def _converse(client: Client, picker: Picker, news: int, told: list[str]) -> None:
    unread = b""
    while True:
        _draw(picker)
        ready, _, _ = select.select([sys.stdin, news], [], [], AGES_SECONDS)
        # Keys first: they were pressed before the news could be seen.
        if sys.stdin in ready:
            data = os.read(sys.stdin.fileno(), 4096)
            if not data:
                return
            pressed, unread = keys(unread + data)
            for key in pressed:
                deed = picker.press(key)
                if isinstance(deed, Leave):
                    return
                if deed is not None:
                    told.append(_do(client, picker, deed))
                    still_waits = isinstance(deed, Extend | Undo)
                    picker.refresh(_waiting(client), done="" if still_waits else deed.inquiry["id"])
                    if isinstance(deed, Undo):
                        picker.open(deed.inquiry["id"])
                    # Keys typed ahead were meant for the question that is settled now, and not for the next one.
                    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
                    unread = b""
                    break
        if news in ready:
            os.read(news, 4096)
            _take_in(client, picker)


def _take_in(client: Client, picker: Picker) -> None:
    before = picker.closed
    picker.refresh(_waiting(client))
    if picker.closed is not None and picker.closed is not before:
        picker.closed.how = resolution(client.get(inquiry_path(picker.closed.inquiry["id"])), time.time())


def _do(client: Client, picker: Picker, deed: Send | Decline | Extend | Undo) -> str:
    """What came of it: the picker's note, and the sentence that stays when the screen has gone."""
    try:
        sentence = (
            _decide(client, picker, deed) if isinstance(deed, Send | Decline) else _change(client, deed)
        )
    except UpcallError as error:
        sentence = line(error.message, error.hint)
    undo = (
        " Tab, then u, takes it back." if picker.undoable is not None and not isinstance(deed, Extend) else ""
    )
    picker.note = sentence + undo
    return sentence


def _change(client: Client, deed: Extend | Undo) -> str:
    name, ref = deed.inquiry["id"], deed.inquiry["ref"]
    if isinstance(deed, Undo):
        reply = client.post(inquiry_path(name, "undo"), {})
        done = f"Undone: {ref} waits again."
    else:
        reply = client.post(inquiry_path(name, "extend"), {"for": "24h"})
        left = span(moment(reply["inquiry"]["expires_at"]) - time.time() + 0.5)
        done = f"Extended {ref}: it expires in {left}."
    return outcome(reply, reply["inquiry"], done, time.time())


def _decide(client: Client, picker: Picker, deed: Send | Decline) -> str:
    inquiry = deed.inquiry
    body: dict[str, Any] = {"via": "terminal", "key": os.urandom(16).hex()}
    if isinstance(deed, Send):
        more: dict[str, Any] = {"hold": True} if deed.quick else {}
        more |= {"remember": {"as": deed.remember}} if deed.remember else {}
        reply = client.post(inquiry_path(inquiry["id"], "answer"), body | {"answers": deed.answers} | more)
        done = f"Answered {inquiry['ref']}: {given(inquiry | {'answer': {'answers': deed.answers}})}."
    else:
        reply = client.post(inquiry_path(inquiry["id"], "reject"), body | {"reason": deed.reason or None})
        done = f"Rejected {inquiry['ref']}."
    if reply["accepted"] and (held := reply["inquiry"].get("held")):
        seconds = moment(held["until"]) - time.time()
        picker.hold(inquiry, seconds)
        done += f" The agent is told in {span(seconds + 0.5)}."
    else:
        done += f" {fate(reply)}"
    done += (
        f" It is remembered: see `{program()} rules list`."
        if isinstance(deed, Send) and deed.remember
        else ""
    )
    return outcome(reply, reply["inquiry"], done, time.time())


def _waiting(client: Client) -> list[dict[str, Any]]:
    """What waits for a decision. What a person has decided and can still undo does not."""
    return [each for each in client.every("/v1/inquiries", state="open") if not each.get("held")]


def _draw(picker: Picker) -> None:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    unread = picker.choosing is not None and not picker.choosing.whole
    lines = screen(picker, time.time(), Size(columns or 80, rows or 24), paint())
    if unread and picker.choosing is not None and picker.choosing.is_approval and picker.choosing.whole:
        # No key that was pressed before the end of an approval is on the screen decides it.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    text = f"{REST_OF_LINE}\r\n".join(lines)
    sys.stdout.write(f"{HOME}{text}{REST_OF_LINE}{REST_OF_SCREEN}")
    sys.stdout.flush()


@contextmanager
def _terminal() -> Iterator[None]:
    """Switch to the alternate screen and to single keys; restore both at the end, also after an exception."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    ended = signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(handle)
        # Ctrl-Z would leave a stopped program's screen behind; here it does nothing.
        attributes = termios.tcgetattr(handle)
        attributes[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(handle, termios.TCSADRAIN, attributes)
        sys.stdout.write(ENTER_SCREEN)
        sys.stdout.flush()
        yield
    finally:
        sys.stdout.write(LEAVE_SCREEN)
        sys.stdout.flush()
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


@contextmanager
def _news(client: Client) -> Iterator[int]:
    """A descriptor that can be read when something has happened or the window has another size."""
    news, write = os.pipe()
    os.set_blocking(write, False)
    resized = signal.signal(signal.SIGWINCH, lambda number, frame: _wake(write))
    threading.Thread(target=_follow, args=(Client(client.role, client.home), write), daemon=True).start()
    try:
        yield news
    finally:
        # The thread may still hold the descriptors; they end with this process.
        signal.signal(signal.SIGWINCH, resized)


def _follow(client: Client, write: int) -> None:
    after = LATEST
    while True:
        try:
            wait = 0 if after == LATEST else POLL_SECONDS
            events = client.get("/v1/events", patience=wait, after=after, wait=wait)
        except UpcallError:
            time.sleep(PAUSE)
            continue
        if events["items"] or after == LATEST:
            _wake(write)
        after = events["next_after"]


def _wake(write: int) -> None:
    try:
        os.write(write, b".")
    except BlockingIOError:
        return


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
