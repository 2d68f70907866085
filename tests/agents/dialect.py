"""What the vendors' dialects have in common: words to say, and the two forms in which they travel."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.agents.script import Conversation, Say, Tool

Json = dict[str, Any]

# The same for every reply, so that what a program reports as used can be counted.
PROMPT_TOKENS = 100
REPLY_TOKENS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A call as the program will see it."""

    id: str
    tool: Tool
    arguments: Json

    @property
    def json(self) -> str:
        """The arguments as text."""
        return json.dumps(self.arguments)


Word = Say | Play


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back over the wire."""

    status: int = 200
    content_type: str = "application/json"
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one vendor's service is spoken to."""

    name: str
    path: str
    """How the address ends."""
    call_prefix: str
    listen: Callable[[Json], Conversation]
    """What a program tells the model."""
    speak: Callable[[Json, str, Sequence[Word]], Reply]
    """What the model says to a request, under a name for that reply."""
    refuse: Callable[[int, str], Json]
    """How the service says no."""


def as_json(document: Json, status: int = 200) -> Reply:
    """One document."""
    return Reply(status=status, body=json.dumps(document).encode())


def as_stream(events: Iterable[tuple[str, Json | str]]) -> Reply:
    """Server-sent events, each with its name if it has one."""
    lines: list[str] = []
    for name, data in events:
        if name:
            lines.append(f"event: {name}\n")
        lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return Reply(content_type="text/event-stream", body="".join(lines).encode())


def text_in(content: Any) -> str:
    """The words in a piece of content, whichever way a vendor wraps them."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_in(each) for each in content)
    if isinstance(content, dict):
        return text_in(content.get("text", content.get("content")))
    return ""
