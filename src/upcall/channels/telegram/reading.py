"""Reads what Telegram sends: presses and messages, as what a person did. Words are passed on, never interpreted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upcall.channels.naming import message_name
from upcall.channels.telegram.form_state import Pressed, pressed_in
from upcall.channels.telegram.messages import QUOTED, excerpt
from upcall.domain.channel.showing import Inbound, Odd, SentFile

Payload = Mapping[str, Any]

COMMANDS = {"/start", "/id"}
"""The first opens a chat with any bot; the second asks for the address of a chat."""


WORDLESS = {
    "animation",
    "audio",
    "contact",
    "dice",
    "document",
    "location",
    "paid_media",
    "photo",
    "poll",
    "sticker",
    "story",
    "venue",
    "video",
    "video_note",
    "voice",
}
"""The fields of messages without text."""


CAPTIONED = {"animation", "audio", "paid_media", "video", "voice"}
"""The fields of files that can have words beside them, and are not fetched."""

ALBUM = "album"
"""The field that holds the messages of an album, once they are put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """A press: the id of the query that has to be acknowledged, and the data of the button."""

    query: str
    inbound: Inbound
    pressed: Pressed


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message of a person: its name, and the form that it replies to, if it does."""

    name: str
    inbound: Inbound
    form: Pressed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A message that is a command to the bot, and about no question."""

    name: str
    user: str
    place: str


def understood(update: Payload) -> Press | Note | Command | None:
    """What a person did; None for an update that is not about us."""
    if "callback_query" in update:
        return _press(update)
    if "message_reaction" in update:
        return _reaction(update)
    message = update.get("message")
    return None if message is None else _note(update, message)


def _press(update: Payload) -> Press | None:
    query = update["callback_query"]
    message = query.get("message")
    if message is None:
        return None
    pressed = pressed_in(str(query.get("data", "")), _quoted(message))
    if pressed is None:
        return None
    inbound = Inbound(
        id=f"update:{update['update_id']}",
        user=str(query["from"]["id"]),
        place=_place(message),
        message=message_name(message["chat"]["id"], message["message_id"]),
        inquiry=pressed.inquiry,
        given=pressed.state.given,
    )
    return Press(query=str(query["id"]), inbound=inbound, pressed=pressed)


def _reaction(update: Payload) -> Note | None:
    """A reaction, which is no answer; None where one was taken back, or where Telegram does not say by whom."""
    reaction = update["message_reaction"]
    author = reaction.get("user")
    if author is None or author.get("is_bot") or not reaction.get("new_reaction"):
        return None
    name = message_name(reaction["chat"]["id"], reaction["message_id"])
    inbound = Inbound(
        id=f"update:{update['update_id']}",
        user=str(author["id"]),
        place=str(reaction["chat"]["id"]),
        message=name,
        odd=Odd.REACTION,
    )
    return Note(name=name, inbound=inbound)


def _note(update: Payload, message: Payload) -> Note | Command | None:
    author, chat = message.get("from"), message["chat"]
    words = str(message.get("text") or message.get("caption") or "").strip()
    files = _files(message)
    answers = bool(words) or any(file.is_there for file in files)
    odd = None if answers else _odd(message)
    if author is None or author.get("is_bot") or (not answers and odd is None):
        return None
    name, user = message_name(chat["id"], message["message_id"]), str(author["id"])
    first, _, rest = words.partition(" ")
    if first.partition("@")[0] in COMMANDS:
        if not rest.strip():
            return Command(name=name, user=user, place=_place(message))
        words = rest.strip()
    replied = message.get("reply_to_message")
    # In a topic, every message is also a reply to the first one of the topic.
    if replied is not None and not replied.get("from", {}).get("is_bot"):
        replied = None
    if replied is None and chat.get("type") != "private":
        return None
    inbound = Inbound(
        id=f"update:{update['update_id']}",
        user=user,
        place=_place(message),
        message=None if replied is None else message_name(chat["id"], replied["message_id"]),
        words=words,
        files=files,
        odd=odd,
        at=float(message["date"]) if message.get("date") else None,
    )
    return Note(name=name, inbound=inbound, form=None if replied is None else _form(replied))


def together(updates: Sequence[Payload]) -> list[Payload]:
    """The updates, with the pictures of one album as one message: Telegram delivers each of them apart."""
    found: list[dict[str, Any]] = []
    for update in updates:
        before = found[-1] if found else {}
        if album_of(update) and album_of(update) == album_of(before):
            first, more = before["message"], update["message"]
            caption = first.get("caption") or more.get("caption") or ""
            album = [*first.get(ALBUM, [first]), more]
            found[-1] = {**update, "message": {**first, "caption": caption, ALBUM: album}}
        else:
            found.append(dict(update))
    return list(found)


def album_of(update: Payload) -> str:
    """The album that a message belongs to; empty for any other update."""
    return str((update.get("message") or {}).get("media_group_id") or "")


def _files(message: Payload) -> tuple[SentFile, ...]:
    return tuple(file for each in message.get(ALBUM, [message]) for file in _file(each))


def _file(message: Payload) -> list[SentFile]:
    """What a message brings beside its words: a picture in its largest size, or a document."""
    sizes = message.get("photo") or []
    if sizes:
        best = max(sizes, key=lambda each: int(each.get("width", 0)) * int(each.get("height", 0)))
        return [SentFile(name="photo.jpg", at=str(best["file_id"]), size=best.get("file_size"))]
    if "document" in message:
        file = message["document"]
        name = str(file.get("file_name") or "file")
        return [SentFile(name=name, at=str(file["file_id"]), size=file.get("file_size"))]
    return [SentFile(name=kind) for kind in sorted(CAPTIONED & message.keys())]


def _odd(message: Payload) -> Odd | None:
    """Whether a message without words is from a person, and not about the chat itself."""
    return Odd.MESSAGE if WORDLESS & message.keys() else None


def _place(message: Payload) -> str:
    chat = str(message["chat"]["id"])
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    return chat if topic is None else f"{chat}/{topic}"


def _form(message: Payload) -> Pressed | None:
    """The form that a message shows; None if it shows none."""
    for row in message.get("reply_markup", {}).get("inline_keyboard", []):
        for button in row:
            pressed = pressed_in(str(button.get("callback_data", "")), _quoted(message))
            if pressed is not None and pressed.current:
                return pressed
    return None


def _quoted(message: Payload) -> list[str]:
    """The words that the message of a form holds."""
    text = str(message.get("text", ""))
    return [
        excerpt(text, entity["offset"], entity["length"])
        for entity in message.get("entities", [])
        if entity.get("type") == QUOTED
    ]
