"""Reads Matrix events as what a person did. Words are passed on, never interpreted.

Members of a room can send events of any shape, so every field is checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upcall.channels.matrix.messages import ABOUT, INQUIRY, KEYS, MARK
from upcall.channels.naming import message_name
from upcall.domain.channel.showing import Given, Inbound, Odd

Event = Mapping[str, Any]
TYPES = ("m.room.message", "m.sticker", "m.reaction", "m.room.encrypted", "m.room.member")
"""The types of events that are read."""

WORDLESS = {"m.audio", "m.file", "m.image", "m.location", "m.video"}
"""The sorts of messages that a person can send and that are no text."""

LONGEST_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a person did in a room: they reacted with `key`, wrote `words`, or sent something that cannot be read.

    `targets` are the events that it may be about, the likeliest first; `thread` is the one that it was written in.
    """

    id: str
    user: str
    room: str
    targets: tuple[str, ...] = ()
    thread: str = ""
    key: str = ""
    words: str = ""
    encrypted: bool = False
    wordless: bool = False
    mentions: tuple[str, ...] = ()
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The mark in one of our own events."""

    inquiry: str = ""
    keys: tuple[str, ...] = ()
    about: str = ""


def room_and_event(name: str) -> tuple[str, str]:
    """The room and the event of a message; an event's id begins with a dollar sign, a room's has none."""
    room, _, event = name.partition("/$")
    return room, f"${event}"


def done(event: Event, room: str) -> Done | None:
    """What a person did; None for what we have done ourselves and for everything that is no answer."""
    content = _table(event.get("content"))
    name, user, kind = event.get("event_id"), event.get("sender"), event.get("type")
    if MARK in content or not isinstance(name, str) or not isinstance(user, str):
        return None
    relation = _table(content.get("m.relates_to"))
    related, target = relation.get("rel_type"), _name(relation.get("event_id"))
    if kind == "m.reaction":
        key = relation.get("key")
        if related != "m.annotation" or not target or not isinstance(key, str):
            return None
        return Done(id=name, user=user, room=room, targets=(target,), key=_plain(key))
    if kind == "m.room.encrypted":
        return Done(id=name, user=user, room=room, encrypted=True)
    # An answer is final, so an edit of it changes nothing.
    wordless = kind == "m.sticker" or content.get("msgtype") in WORDLESS
    if kind not in {"m.room.message", "m.sticker"} or related == "m.replace":
        return None
    if not wordless and content.get("msgtype") != "m.text":
        return None
    replied = _name(_table(relation.get("m.in_reply_to")).get("event_id"))
    thread = target if related == "m.thread" else ""
    if relation.get("is_falling_back") is True:
        replied = ""
    return Done(
        id=name,
        user=user,
        room=room,
        targets=tuple(each for each in (replied, thread) if each),
        thread=thread,
        # What stands there is the name of a file.
        words="" if wordless else str(content.get("body", "")),
        wordless=wordless,
        mentions=_names(_table(content.get("m.mentions")).get("user_ids")),
        at=_moment(event.get("origin_server_ts")),
    )


def mark(event: Event, us: str) -> Mark | None:
    """The mark in an event of ours; None for the events of others, even with a mark."""
    given = _table(event.get("content")).get(MARK)
    if event.get("sender") != us or not isinstance(given, Mapping):
        return None
    known = _names(given.get(KEYS))
    return Mark(
        inquiry=str(given.get(INQUIRY, "")),
        keys=tuple(_plain(key) for key in known),
        about=_name(given.get(ABOUT)),
    )


def inbound(done: Done, event: str, found: Mark) -> Inbound:
    """What was done about a question."""
    given, odd = None, Odd.MESSAGE if done.wordless else None
    if done.key in found.keys:
        given = (Given(picks=(found.keys.index(done.key),)),)
    elif done.key:
        odd = Odd.REACTION
    return Inbound(
        id=f"event:{done.id}",
        user=done.user,
        place=done.room,
        message=message_name(done.room, event),
        inquiry=found.inquiry,
        given=given,
        words=done.words,
        odd=odd,
    )


def addressed(done: Done, us: str, names: Sequence[str]) -> Inbound | None:
    """Words that mention the app, without its name before them; None if they do not mention it."""
    if us not in done.mentions:
        return None
    words = done.words.strip()
    called = next((name for name in names if name and words.startswith(name)), "")
    return to_us(done, words.removeprefix(called).lstrip(" :,"))


def to_us(done: Done, words: str) -> Inbound:
    """Words that are about no message."""
    odd = Odd.MESSAGE if done.wordless else None
    return Inbound(id=f"event:{done.id}", user=done.user, place=done.room, words=words, odd=odd, at=done.at)


def _moment(milliseconds: object) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int) else None


def _plain(key: str) -> str:
    """A reaction without the variation selector, which not every client sends."""
    return key.replace("\ufe0f", "")


def _table(value: object) -> Event:
    return value if isinstance(value, Mapping) else {}


def _name(value: object) -> str:
    """An event's id; empty for a value that cannot be one."""
    return value if isinstance(value, str) and value.startswith("$") and len(value) <= LONGEST_NAME else ""


def _names(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
