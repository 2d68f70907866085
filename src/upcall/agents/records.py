"""What the readers of programs' own records share: lines of JSON, and values in them that may be of any form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from upcall.ports.foreign_files import Part

Fields = Mapping[str, object]

LONGEST_LINE = 1024 * 1024
"""Bytes of a line that is still read: longer ones hold files and pictures, and no words."""


def lines(part: Part) -> Iterator[Fields]:
    """The objects on whole lines; the first line of a part has most likely begun before it."""
    rows = part.data.split(b"\n")
    for row in rows if part.whole else rows[1:]:
        if not row or len(row) > LONGEST_LINE:
            continue
        try:
            found = cast("object", json.loads(row))
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield cast("Fields", found)


def fields(value: object) -> Fields:
    """An object; empty if it is none."""
    return cast("Fields", value) if isinstance(value, dict) else {}


def items(value: object) -> Sequence[object]:
    """A list; empty if it is none."""
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def text(value: object) -> str:
    """A text; empty if it is none."""
    return value if isinstance(value, str) else ""


def words(content: object, kind: str = "text") -> str:
    """The text of a message: text itself, or the blocks of that kind."""
    if isinstance(content, str):
        return content
    blocks = (fields(block) for block in items(content))
    return "\n".join(text(block.get("text")) for block in blocks if block.get("type") in (kind, None))


def home_of(environment: Mapping[str, str], variable: str, *below: str) -> Path:
    """The folder that a variable names, or else one in the home of the session's user."""
    named = environment.get(variable)
    return Path(named) if named else Path(environment.get("HOME") or Path.home()).joinpath(*below)
