"""Discord's JSON: a user, a message, a success and a failure."""

import json
from typing import Any

from aiohttp import web

Json = dict[str, Any]


def user(name: str) -> Json:
    """A person."""
    return {"id": name, "username": f"user{name}", "discriminator": "0", "avatar": None}


def message(channel: str, number: str, author: Json, words: str) -> Json:
    """A message without anything attached to it."""
    return {
        "id": number,
        "channel_id": channel,
        "author": author,
        "content": words,
        "timestamp": "2026-11-15T00:00:00+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
        "components": [],
        "flags": 0,
    }


def reply(body: Json, status: int, **headers: str) -> web.Response:
    """What the API answers."""
    # Without a word about the character set, or the library takes it for text.
    kind = {"Content-Type": "application/json"}
    return web.Response(body=json.dumps(body).encode(), status=status, headers=kind | headers)


def yes(body: Json) -> web.Response:
    """Done."""
    return reply(body, 200)


def no(status: int, code: int, text: str) -> web.Response:
    """Refused."""
    return reply({"code": code, "message": text}, status)
