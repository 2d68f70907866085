"""One-way channels for the owner of the home: a bell, a notification of the terminal or of macOS, a post to an address.

A notifier is a function of a `Notice`, and raises `Unavailable` or `Refused` as a channel does.
"""

import asyncio
import http.client
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from upcall import __version__
from upcall.channels.one_way import OneWay
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.domain.text.display import inert, one_line
from upcall.ports.channel import Refused, Unavailable

WITHIN = 10.0
"""Seconds that an address may take to reply."""

LATER = {408, 425, 429}
"""The statuses, beside those from 500 on, after which the same post may work later."""

LONGEST_QUESTION = 300
SUPPRESS_EMBEDS = 4
OSASCRIPT = (
    "osascript",
    *("-e", "on run argv"),
    *("-e", "display notification (item 1 of argv) with title (item 2 of argv)"),
    *("-e", "end run"),
)
"""Words are given as arguments, so that none of them is taken for a part of the script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A sentence that says who needs input; `question` is what is asked, and `link` is where the owner can answer."""

    title: str
    text: str
    question: str
    ref: str
    agent: str
    run: int | None
    link: str = ""


Notifier = Callable[[Notice], Awaitable[None]]


class Notification(OneWay):
    """A channel with a single place, in which one notifier tells of each question."""

    capabilities = Capabilities(one_way=True, link=True, replies=False, body=12_000)

    def __init__(self, notify: Notifier, *, title: str, language: str = "en") -> None:
        self._notify = notify
        self._title = title
        self._words = sentences(language)

    async def show(self, view: View, place: str) -> Reference:
        """Tell of a question."""
        name = "needs_input" if view.run is None else "needs_input.run"
        notice = Notice(
            title=self._title,
            text=self._words[name].format(agent=one_line(view.asker, 60), run=view.run),
            question=one_line(view.questions[0].text, LONGEST_QUESTION),
            ref=view.ref,
            agent=view.agent,
            run=view.run,
            link=view.link,
        )
        await self._notify(notice)
        return Reference(place=place, message=view.inquiry)

    async def tell(self, reference: Reference, line: str) -> None:
        """Nothing: a notification is not repeated."""

    async def check(self) -> Sequence[Finding]:
        """Nothing can be found out without disturbing the owner."""
        return []


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
            stream.write(escape_sequence(code, notice))
            stream.flush()

    return show


def escape_sequence(code: str, notice: Notice) -> str:
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
    try:
        process = await asyncio.create_subprocess_exec(
            *OSASCRIPT, notice.text, notice.title, stdin=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        raise Refused(f"osascript cannot be started: {error}") from error
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if code:
        raise Refused(f"osascript ended with {code}")


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
        try:
            await asyncio.to_thread(post, notice)
        except urllib.error.HTTPError as error:
            with error:
                later = error.code >= 500 or error.code in LATER
            raise (Unavailable if later else Refused)(f"it says {error.code}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"it cannot be reached: {str(error) or type(error).__name__}") from error

    return notify
