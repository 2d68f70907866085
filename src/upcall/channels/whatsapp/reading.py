"""Reads what WhatsApp sends: presses, words and receipts. Fields may be missing; words are passed on, never interpreted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from upcall.channels.whatsapp.messages import Tag, pick, tag_in
from upcall.domain.channel.showing import Given, Inbound, Odd, SentFile

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a message of ours: `code` is why it failed, 0 if it did not; `at` is when, 0 if it is not said.

    `tag` is what the message was sent with, None if it shows no inquiry.
    """

    message: str
    code: int = 0
    details: str = ""
    at: float = 0.0
    tag: Tag | None = None


def receipts(payload: Payload, number: str) -> Iterator[Receipt]:
    """The receipts of messages that a number sent."""
    for value in _values(payload, number):
        for status in value.get("statuses", []):
            problems = status.get("errors") or [{}] if status.get("status") == "failed" else []
            tag = tag_in(str(status.get("biz_opaque_callback_data") or ""))
            for problem in problems[:1]:
                details = problem.get("error_data", {}).get("details") or problem.get("title") or ""
                yield Receipt(
                    message=str(status["id"]),
                    code=int(problem.get("code", -1)),
                    details=str(details),
                    at=float(status.get("timestamp") or 0),
                    tag=tag,
                )
            if not problems:
                yield Receipt(message=str(status["id"]), tag=tag)


def done(payload: Payload, number: str) -> Iterator[Inbound]:
    """What people did who wrote to a number: presses, words, reactions."""
    for value in _values(payload, number):
        for message in value.get("messages", []):
            inbound = _inbound(message, value.get("contacts", []))
            if inbound is not None:
                yield inbound


def _values(payload: Payload, number: str) -> Iterator[Payload]:
    """The values of a payload that are about a number; an app may have several."""
    for entry in payload.get("entry", []):
        for change in entry.get("changes", []):
            value = change.get("value", {})
            if (
                change.get("field") == "messages"
                and value.get("metadata", {}).get("phone_number_id") == number
            ):
                yield value


def _inbound(message: Payload, contacts: list[Payload]) -> Inbound | None:
    phone = str(message.get("from") or "")
    user = _user(message, contacts, phone)
    if not user and not phone:
        return None
    pressed = _pressed(message)
    words = "" if pressed else _words(message)
    odd = None if pressed or words.strip() else _odd(message)
    if pressed is None and not words.strip() and odd is None:
        return None
    about = message.get("reaction", {}).get("message_id") or message.get("context", {}).get("id")
    return Inbound(
        id=f"message:{message['id']}",
        user=user or phone,
        alias=phone if user else "",
        place=phone or user,
        message=about,
        inquiry=pressed[0] if pressed else None,
        given=(Given(picks=(pressed[1],)),) if pressed else None,
        words=words,
        files=_files(message),
        odd=odd,
        at=float(message["timestamp"]) if message.get("timestamp") else None,
    )


def _user(message: Payload, contacts: list[Payload], phone: str) -> str:
    """The id of a person, which stays when they hide or change their number."""
    named = message.get("from_user_id") or message.get("user_id")
    if named:
        return str(named)
    theirs = [each for each in contacts if not phone or each.get("wa_id") in {None, phone}]
    return str(theirs[0].get("user_id") or "") if len(theirs) == 1 else ""


def _pressed(message: Payload) -> tuple[str, int] | None:
    interactive = message.get("interactive", {})
    reply = interactive.get("button_reply") or interactive.get("list_reply") or {}
    return pick(str(reply.get("id", "")))


def _odd(message: Payload) -> Odd | None:
    """What has no words: a voice note, a sticker, a reaction that was not taken back."""
    match message.get("type"):
        case "reaction":
            return Odd.REACTION if message.get("reaction", {}).get("emoji") else None
        case "text" | "button" | "interactive" | "system" | None:
            return None
        case _:
            return Odd.MESSAGE


def _files(message: Payload) -> tuple[SentFile, ...]:
    """What came beside a caption. It is not fetched."""
    kind = str(message.get("type"))
    if kind not in {"image", "video", "document"}:
        return ()
    return (SentFile(name=str(message[kind].get("filename") or kind)),)


def _words(message: Payload) -> str:
    match message.get("type"):
        case "text":
            return str(message.get("text", {}).get("body", ""))
        case "button":
            return str(message.get("button", {}).get("text", ""))
        case "image" | "video" | "document":
            return str(message[message["type"]].get("caption", ""))
        case _:
            return ""
