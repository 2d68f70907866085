"""`upcall answer` without arguments: the picker on a real terminal, kept up to date while it is open."""

import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from upcall.cli.client import LATEST, Client, inquiry_path
from upcall.cli.failures import CommandFailed, line
from upcall.cli.picker.actions import Change, Decline, Extend, Leave, Look, Read, Send, Undo
from upcall.cli.picker.changing import Changing, changed, draft_of
from upcall.cli.picker.choosing import Choosing
from upcall.cli.picker.drawing import Size, outcome, screen
from upcall.cli.picker.editor import written_in_editor
from upcall.cli.picker.keys import keys
from upcall.cli.picker.looking import look
from upcall.cli.picker.picker import Picker
from upcall.cli.picker.terminal import Terminal, taken_terminal
from upcall.cli.render.fate import fate
from upcall.cli.render.inquiries import given, resolution
from upcall.cli.render.terminal import paint
from upcall.domain.errors import NotEditable, UpcallError
from upcall.domain.text.times import moment, span
from upcall.home.program import program

POLL_SECONDS = 30.0
PAUSE = 1.0
AGES_SECONDS = 30.0
"""Seconds after which the screen is drawn again, since it shows ages."""

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
    with taken_terminal() as terminal, _news(client) as news:
        _converse(client, picker, news, told, terminal)
    # What was done stays to be read after the screen has gone.
    for sentence in told:
        print(sentence)
    return 0


def _converse(client: Client, picker: Picker, news: int, told: list[str], terminal: Terminal) -> None:
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
                if isinstance(deed, Look | Read):
                    _look(client, picker, deed)
                elif isinstance(deed, Change):
                    _write(picker, deed, terminal)
                elif deed is not None:
                    told.append(_do(client, picker, deed))
                    still_waits = isinstance(deed, Extend | Undo)
                    _refresh(client, picker, done="" if still_waits else deed.inquiry["id"])
                    # Not over a question that the person has begun to answer meanwhile.
                    if isinstance(deed, Undo) and picker.choosing is None:
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
    _refresh(client, picker)
    if picker.closed is not None and picker.closed is not before:
        try:
            settled = client.get(inquiry_path(picker.closed.inquiry["id"]))
        except UpcallError as error:
            picker.note = line(error.message, error.hint)
        else:
            picker.closed.how = resolution(settled, time.time())


def _refresh(client: Client, picker: Picker, done: str = "") -> None:
    """Take in what waits now. Where the daemon cannot be reached, what the person has written stays on the screen."""
    try:
        waiting = _waiting(client)
    except UpcallError as error:
        picker.note = line(error.message, error.hint)
    else:
        picker.refresh(waiting, done=done)


def _write(picker: Picker, deed: Change, terminal: Terminal) -> None:
    """Let the person write in their editor what the inquiry is to be decided with."""
    choosing, inquiry = picker.choosing, deed.inquiry
    if choosing is None:
        return
    name = "comments.md" if choosing.is_plan else "action.txt"
    try:
        with terminal.lent():
            choosing.written = written_in_editor(choosing.written or draft_of(inquiry), name)
        picker.changing = changed(inquiry, choosing.written)
    except (CommandFailed, NotEditable) as error:
        picker.changing = None
        picker.note = line(error.message, error.hint)
        return
    if picker.changing is None:
        choosing.written, picker.note = "", "Nothing was changed."


def _look(client: Client, picker: Picker, wanted: Look | Read) -> None:
    try:
        look(client, picker, wanted, _size().columns)
    except UpcallError as error:
        picker.note = line(error.message, error.hint)


def _do(client: Client, picker: Picker, deed: Send | Decline | Extend | Undo) -> str:
    """What came of it: the picker's note, and the sentence that stays when the screen has gone."""
    try:
        sentence = (
            _decide(client, picker, deed) if isinstance(deed, Send | Decline) else _change(client, deed)
        )
    except UpcallError as error:
        sentence = line(error.message, error.hint)
        if isinstance(deed, Send):
            # With what was written, so that it can be put right.
            picker.open(deed.inquiry["id"])
    picker.note = f"{sentence} Tab, then u, takes it back." if picker.undoable is deed.inquiry else sentence
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
        more |= {"input": deed.input} if deed.input is not None else {}
        reply = client.post(inquiry_path(inquiry["id"], "answer"), body | {"answers": deed.answers} | more)
        kept = reply["inquiry"]["answer"] or {"answers": deed.answers}
        done = f"Answered {inquiry['ref']}: {given(inquiry | {'answer': kept})}."
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
    unread = _unread(picker)
    lines = screen(picker, time.time(), _size(), paint())
    if unread is not None and unread.whole:
        # No key that was pressed before the end of an action or of a plan is on the screen decides it.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    text = f"{REST_OF_LINE}\r\n".join(lines)
    sys.stdout.write(f"{HOME}{text}{REST_OF_LINE}{REST_OF_SCREEN}")
    sys.stdout.flush()


def _unread(picker: Picker) -> Choosing | Changing | None:
    """What lets an agent act, as long as its end has not been on the screen."""
    if picker.changing is not None:
        return None if picker.changing.whole else picker.changing
    choosing = picker.choosing
    return choosing if choosing is not None and choosing.is_consent and not choosing.whole else None


def _size() -> Size:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return Size(columns or 80, rows or 24)


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
    after, lost = LATEST, False
    while True:
        try:
            wait = 0 if after == LATEST or lost else POLL_SECONDS
            events = client.get("/v1/events", patience=wait, after=after, wait=wait)
        except UpcallError:
            lost = True
            time.sleep(PAUSE)
            continue
        # What could not be read meanwhile is read now.
        if events["items"] or after == LATEST or lost:
            _wake(write)
        after, lost = events["next_after"], False


def _wake(write: int) -> None:
    try:
        os.write(write, b".")
    except BlockingIOError:
        return
