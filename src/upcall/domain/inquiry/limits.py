"""How much may be asked at once. Counted in characters, except where a name says bytes."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one inquiry; `[limits]` in the configuration."""

    questions: int = 4
    header: int = 30
    question: int = 2000
    options: int = 10
    label: int = 75
    description: int = 300
    preview: int = 4000
    context_bytes: int = 16 * 1024
    attachments: int = 4
    attachment_bytes: int = 1024 * 1024
    answer: int = 64 * 1024
    reason: int = 2000


NATIVE = Limits(
    questions=16,
    header=sys.maxsize,
    question=sys.maxsize,
    options=64,
    label=sys.maxsize,
    description=sys.maxsize,
    preview=sys.maxsize,
    context_bytes=sys.maxsize,
)
"""For questions that a program asks in its own way, and could not be made to ask in fewer words: only the whole is bounded."""

MOST_NATIVE = 2 * 1024 * 1024
"""Characters that such questions have in all."""

_MOST_BRACKETS = 100_000
_MOST_COMMAS = 1_000_000
_MOST_COLONS = 150_000


def weight(value: object, most: int) -> int:
    """How many characters and values there are in something that came as JSON; it is not looked at beyond `most`."""
    found = 0
    waiting: list[object] = [value]
    while waiting and found <= most:
        each = waiting.pop()
        found += 1
        match each:
            case str():
                found += len(each)
            case Mapping():
                fields = cast("Mapping[object, object]", each)
                found += len(fields)
                if found <= most:
                    waiting += fields.keys()
                    waiting += fields.values()
            case list() | tuple():
                items = cast("Sequence[object]", each)
                found += len(items)
                if found <= most:
                    waiting += items
            case _:
                pass
    return found


def has_too_many_values(raw: bytes | str) -> bool:
    """Whether JSON may hold so many values that reading it alone would hold up all others."""
    if isinstance(raw, str):
        opening, commas, colons = raw.count("[") + raw.count("{"), raw.count(","), raw.count(":")
    else:
        opening, commas, colons = raw.count(b"[") + raw.count(b"{"), raw.count(b","), raw.count(b":")
    return opening > _MOST_BRACKETS or commas > _MOST_COMMAS or colons > _MOST_COLONS
