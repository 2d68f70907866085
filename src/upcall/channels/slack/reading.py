"""Reads what Slack sends: presses, forms and messages, as what a person did. Words are passed on, never interpreted."""

import hashlib
import hmac
import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from upcall.channels.naming import conversation_and_id, message_name
from upcall.channels.slack.blocks import FIELD, OWN_WORDS, PICK
from upcall.domain.channel.showing import Given, Inbound, Odd, SentFile
from upcall.domain.errors import InvalidRequest
from upcall.ports.channel import Callback
from upcall.ports.json_reading import read_json

Payload = Mapping[str, Any]

SIGNED_SECONDS = 300
PEOPLE_WRITE = {None, "thread_broadcast", "file_share"}
"""Subtypes of messages that a person wrote; the others are edits, joins and the like."""

_LINK = re.compile(r"<(https?://[^|>\s]+)(?:\|[^>]*)?>")
_MAIL = re.compile(r"<(?:mailto|tel):[^|>]+\|([^>]*)>")


def is_signed(callback: Callback, secret: str, now: float) -> bool:
    """Whether the signature of a request is Slack's, and at most five minutes old."""
    timestamp = callback.headers.get("x-slack-request-timestamp", "")
    given = callback.headers.get("x-slack-signature", "")
    if not timestamp.isascii() or not timestamp.isdigit() or abs(now - int(timestamp)) > SIGNED_SECONDS:
        return False
    signed = f"v0:{timestamp}:".encode() + callback.body
    expected = f"v0={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"
    return hmac.compare_digest(expected.encode(), given.encode())


def called_with(callback: Callback) -> Payload:
    """The payload of a signed request: JSON, or JSON in a form field; empty if it is neither."""
    try:
        text = callback.body.decode()
        if callback.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            text = parse_qs(text)["payload"][0]
        read = read_json(text)
    except (KeyError, UnicodeDecodeError, InvalidRequest):
        return {}
    return read if isinstance(read, dict) else {}


def pressed(payload: Payload) -> Inbound | None:
    """A button that answers; None for what only changes a field."""
    action = payload["actions"][0]
    kind, *numbers = str(action.get("action_id", "")).split(":")
    if kind == PICK and len(numbers) == 2:
        given = Given(picks=(int(numbers[1]),))
    elif action.get("type") == "button":
        given = _field(payload.get("state", {}).get("values", {}), None)
    else:
        return None
    channel = str(payload["channel"]["id"])
    return Inbound(
        id=f"press:{payload['user']['id']}:{action['action_ts']}:{action['action_id']}",
        user=str(payload["user"]["id"]),
        place=channel,
        message=message_name(channel, str(payload["message"]["ts"])),
        inquiry=str(action.get("value", "")),
        given=(given,),
    )


def submitted(payload: Payload) -> Inbound:
    """A form that was sent."""
    view = payload["view"]
    values = view["state"]["values"]
    inquiry, _, message = str(view["private_metadata"]).partition(" ")
    count = sum(block.get("block_id", "").startswith(f"{FIELD}:") for block in view["blocks"])
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
    return Inbound(
        id=f"form:{view['id']}:{digest}",
        user=str(payload["user"]["id"]),
        place=conversation_and_id(message)[0],
        inquiry=inquiry,
        given=tuple(_field(values, index) for index in range(count)),
    )


def written(payload: Payload) -> Inbound | None:
    """A reply in a thread or a direct message; None for everything else that is said where the app is."""
    event = payload.get("event", {})
    if event.get("type") == "reaction_added":
        return _reaction(payload, event)
    if event.get("type") != "message" or event.get("subtype") not in PEOPLE_WRITE:
        return None
    # Messages of apps have a bot_id, our own included.
    if event.get("bot_id") or "user" not in event:
        return None
    thread = event.get("thread_ts")
    replies = thread is not None and thread != event.get("ts")
    if not replies and event.get("channel_type") != "im":
        return None
    channel, words = str(event["channel"]), _words(str(event.get("text") or ""))
    files = tuple(_file(file) for file in event.get("files") or ())
    return Inbound(
        id=f"event:{payload['event_id']}",
        user=str(event["user"]),
        place=channel,
        message=message_name(channel, str(thread)) if replies else None,
        words=words,
        files=files,
        # A clip without words says nothing that can be read.
        odd=None if words.strip() or any(file.is_there for file in files) else Odd.MESSAGE,
        at=float(event["ts"]) if event.get("ts") else None,
    )


def _file(file: Payload) -> SentFile:
    """A file of a message. Clips, and files that only stand in another service, are not fetched."""
    kind = str(file.get("mimetype") or "")
    elsewhere = file.get("is_external") or kind.startswith(("audio/", "video/"))
    size = file.get("size")
    return SentFile(
        name=str(file.get("name") or file.get("title") or "file"),
        at="" if elsewhere else str(file.get("url_private_download") or file.get("url_private") or ""),
        size=size if isinstance(size, int) else None,
    )


def _reaction(payload: Payload, event: Payload) -> Inbound | None:
    """A reaction to a message, which is no answer."""
    item = event.get("item", {})
    if item.get("type") != "message" or "user" not in event:
        return None
    channel = str(item["channel"])
    return Inbound(
        id=f"event:{payload['event_id']}",
        user=str(event["user"]),
        place=channel,
        message=message_name(channel, str(item["ts"])),
        odd=Odd.REACTION,
    )


def _field(values: Payload, index: int | None) -> Given:
    """What is chosen and written in the field of that index; without an index, in the only one."""
    picks: tuple[int, ...] = ()
    words = ""
    for block, fields in values.items():
        if index is not None and not block.endswith(f":{index}"):
            continue
        for name, state in fields.items():
            if name == FIELD:
                picks = _picks(state)
            if name in {FIELD, OWN_WORDS}:
                words = words or str(state.get("value") or "")
    return Given(picks=picks, words=words)


def _picks(state: Payload) -> tuple[int, ...]:
    chosen = state.get("selected_options") or [state.get("selected_option")]
    return tuple(int(option["value"]) for option in chosen if option)


def _words(text: str) -> str:
    """Text as it was typed: Slack wraps links and writes three characters as entities."""
    return html.unescape(_MAIL.sub(r"\1", _LINK.sub(r"\1", text)))
