"""Questions that a program asks by writing a marker into its text, which may arrive in pieces of any size.

    <<UPCALL_QUESTION>> {"question": "Which cache?", "options": ["Redis", "Memcached"]} <</UPCALL_QUESTION>>

Only the first of a text counts: who has asked is expected to stop.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

MARKER = "UPCALL_QUESTION"
MARKED_CHARACTERS = 64 * 1024
"""How much may stand inside a marker; a longer one was never closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A question was asked, with these fields."""

    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedBadly:
    """A marker with something else than a question inside; nothing is asked."""

    problem: str


class Markers:
    """Watches one text for its first marker."""

    def __init__(self, name: str = MARKER) -> None:
        self._opening = f"<<{name}>>"
        self._closing = f"<</{name}>>"
        self._text = ""
        self._is_open = False
        self._searched = 0
        self._is_over = False

    def read(self, text: str) -> Marked | MarkedBadly | None:
        """What the text has become with this much more of it; None as long as there is nothing to tell."""
        if self._is_over:
            return None
        self._text += text
        if not self._is_open and not self._opens():
            return None
        end = self._text.find(self._closing, self._searched)
        if end >= 0:
            self._is_over = True
            return _question(self._text[:end])
        if len(self._text) > MARKED_CHARACTERS + len(self._closing):
            self._is_over = True
            return MarkedBadly(problem=f"the marker was not closed within {MARKED_CHARACTERS} characters")
        self._searched = max(0, len(self._text) - len(self._closing) + 1)
        return None

    def _opens(self) -> bool:
        """Drop what came before the marker, and keep what may still become one."""
        _, found, inside = self._text.partition(self._opening)
        self._is_open = bool(found)
        self._text = inside if found else self._text[-(len(self._opening) - 1) :]
        return self._is_open


def _question(inside: str) -> Marked | MarkedBadly:
    try:
        fields = json.loads(_unfenced(inside))
    except (ValueError, RecursionError) as problem:
        return MarkedBadly(problem=f"not JSON: {problem}")
    if not isinstance(fields, dict):
        return MarkedBadly(problem="not a JSON object")
    return Marked(fields=cast("Mapping[str, object]", fields))


def _unfenced(inside: str) -> str:
    """The JSON itself, where a model has put a code fence around it."""
    lines = inside.strip().splitlines()
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return inside
