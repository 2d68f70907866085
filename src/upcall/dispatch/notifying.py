"""Tells the owner of the home that somebody asks: a bell, a notification of the system, an address on the web.

These only tell. Whatever a person can answer in is a channel. A notifier is a function of a `Notice`; what goes wrong
with one is logged and holds up neither the others nor the asker.
"""

import asyncio
import hashlib
import json
import logging
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from upcall import __version__
from upcall.domain.channel.delivery import NOTICE
from upcall.domain.errors import StorageError, UnknownInquiry
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.inquiry.lifecycle import ACTIVATED
from upcall.domain.records import Effects, Record
from upcall.domain.text.display import inert, one_line
from upcall.ports.background import Background
from upcall.ports.store import Event, Ledger, Store

PATIENCE = 30.0
WITHIN = 10.0
"""Seconds that a notifier may take."""

LONGEST_QUESTION = 300
SUPPRESS_EMBEDS = 4
OSASCRIPT = (
    "osascript",
    *("-e", "on run argv"),
    *("-e", "display notification (item 1 of argv) with title (item 2 of argv)"),
    *("-e", "end run"),
)
"""Words are given as arguments, so that none of them is taken for a part of the script."""

log = logging.getLogger("upcall.notifying")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """That somebody asks, in a sentence; `question` is what, and `link` is where its owner can answer."""

    inquiry: str
    title: str
    text: str
    question: str
    ref: str
    agent: str
    run: int | None
    link: str = ""


Notifier = Callable[[Notice], Awaitable[None]]


class Notifying:
    """Follows the log from `start` to `close`, and tells of each question once."""

    def __init__(
        self,
        store: Store,
        notifiers: Sequence[Notifier],
        *,
        title: str,
        words: Mapping[str, str],
        link: Callable[[Inquiry], Awaitable[str]],
    ) -> None:
        self._store = store
        self._notifiers = notifiers
        self._title = title
        self._words = words
        self._link = link
        self._seen = 0
        self._following = Background("following the log for notifications", self._follow, log)
        self._telling: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin with what is asked from now on; where nobody wants to be told, do nothing."""
        if self._notifiers:
            self._seen = await self._store.last_seq()
            self._following.start()

    async def close(self) -> None:
        """Stop; what is being told by now may be heard or not."""
        await self._following.close()
        for task in self._telling:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def _follow(self) -> None:
        for event in await self._store.events(self._seen, wait=PATIENCE):
            if event.type in {"asked", ACTIVATED}:
                await self._heed(event)
            self._seen = event.seq

    async def _heed(self, event: Event) -> None:
        try:
            inquiry = event.subject or await self._store.get(str(event.inquiry))
            if inquiry.is_queued:
                return
            notice = self._notice(inquiry, await self._link(inquiry))
        except UnknownInquiry:
            return
        except StorageError:
            raise
        # A fault of ours about one question keeps nobody from hearing of the others.
        except Exception:
            log.exception("a question could not be told of")
            return
        for notify in self._notifiers:
            task = asyncio.create_task(_tell(notify, notice))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _notice(self, inquiry: Inquiry, link: str) -> Notice:
        origin = inquiry.origin
        name = "needs_input" if origin.run is None else "needs_input.run"
        return Notice(
            inquiry=inquiry.id,
            title=self._title,
            text=self._words[name].format(agent=one_line(origin.asker, 60), run=origin.run),
            question=one_line(inquiry.questions[0].text, LONGEST_QUESTION),
            ref=inquiry.ref,
            agent=origin.agent,
            run=origin.run,
            link=link,
        )


async def _tell(notify: Notifier, notice: Notice) -> None:
    try:
        async with asyncio.timeout(WITHIN):
            await notify(notice)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and nobody else is held up by it
        log.warning("a notification about %s failed: %s", notice.ref, str(problem) or type(problem).__name__)


def told_once(store: Ledger, address: str, notify: Notifier) -> Notifier:
    """Tells an address of each question once, however many daemons on a store want to: the first of them does."""
    place = hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()[:16]

    async def tell(notice: Notice) -> None:
        key, mine = f"{notice.inquiry}:{place}", False

        def decide(kept: Record | None) -> Effects | None:
            nonlocal mine
            mine = kept is None
            claim = Record(kind=NOTICE, key=key, state=notice.inquiry, at=store.now())
            return Effects(records=(claim,)) if mine else None

        await store.revise(NOTICE, key, decide)
        if mine:
            await notify(notice)

    return tell


def bell(stream: TextIO = sys.stdout) -> Notifier:
    """Rings in the terminal that the daemon runs in, if it runs in one."""

    async def ring(_: Notice) -> None:
        if stream.isatty():
            stream.write("\a")
            stream.flush()

    return ring


def terminal(code: str, stream: TextIO = sys.stdout) -> Notifier:
    """Has the terminal that the daemon runs in show a notification, in the way that it understands."""

    async def show(notice: Notice) -> None:
        if stream.isatty():
            stream.write(_escape_sequence(code, notice))
            stream.flush()

    return show


def _escape_sequence(code: str, notice: Notice) -> str:
    """OSC 9 (iTerm2, Windows Terminal), 777 (VTE, urxvt, Ghostty) or 99 (kitty); no text can end it early."""
    title = one_line(notice.title).replace(";", ",")
    text = one_line(f"{notice.text}: {notice.question} {notice.link}")
    match code:
        case "777":
            return f"\x1b]777;notify;{title};{text}\x1b\\"
        case "99":
            name = f"i={notice.ref}"
            return f"\x1b]99;{name}:d=0;{title}\x1b\\\x1b]99;{name}:p=body;{text}\x1b\\"
        case _:
            return f"\x1b]9;{title}: {text}\x1b\\"


async def notify_macos(notice: Notice) -> None:
    """A notification of macOS."""
    process = await asyncio.create_subprocess_exec(
        *OSASCRIPT, notice.text, notice.title, stdin=asyncio.subprocess.DEVNULL
    )
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if code:
        raise OSError(f"osascript ended with {code}")


def webhook(url: str) -> Notifier:
    """Posts JSON to an address, under the names that chats look for: `text` and `content`.

    Chats read these as markup, each in a way of its own: nothing in them mentions, links or hides anything, whichever
    chat it is. What a program is to read is under the other names, as it was asked.
    """

    def post(notice: Notice) -> None:
        # About a run the sentence is all ours; otherwise it has the name of an agent in it.
        sentence = inert(notice.text) if notice.run is None else notice.text
        told = f"{sentence}: {inert(notice.question)}"
        body = {
            # In Slack, Teams and the markdown of Mattermost these three signs are entities; in Discord they are not.
            "text": told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
            "content": told,
            # These two are Discord's: mention no account, and embed nothing.
            "allowed_mentions": {"parse": []},
            "flags": SUPPRESS_EMBEDS,
            "title": notice.title,
            "question": notice.question,
            "ref": notice.ref,
            "agent": notice.agent,
            "run": notice.run,
        }
        request = urllib.request.Request(  # noqa: S310 - the settings take http and https only
            url,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "User-Agent": f"upcall/{__version__}"},
        )
        with urllib.request.urlopen(request, timeout=WITHIN):  # noqa: S310 - as above
            pass

    async def notify(notice: Notice) -> None:
        await asyncio.to_thread(post, notice)

    return notify
