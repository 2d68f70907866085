"""JSON with comments and trailing commas, read together with where everything stands."""

import json
import re
from dataclasses import dataclass, field

from upcall.setup.errors import MalformedError

GAP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""White space and comments between two tokens; it always matches."""

DEEPEST = 200

_SCALARS = json.JSONDecoder()


@dataclass(slots=True)
class Node:
    """A value and its place. `children` are the places of a container's entries, with their keys in an object."""

    start: int
    end: int
    value: object
    members: dict[str, "Node"] = field(default_factory=dict)
    children: list[tuple[int, int]] = field(default_factory=list)


def read(text: str) -> Node:
    """The whole document.

    Raises:
        MalformedError: if it is none.
    """
    scanner = _Scanner(text)
    node = scanner.value(scanner.gap(0), 0)
    rest = scanner.gap(node.end)
    if rest != len(text):
        raise MalformedError("something follows the end", text, rest)
    return node


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text

    def gap(self, at: int) -> int:
        """The position of the next token."""
        found = GAP.match(self._text, at)
        assert found is not None  # it matches nothing, too
        return found.end()

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._wrong("it is nested too deeply", at)
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case _:
                value, end = self._scalar(at)
                return Node(at, end, value)

    def _object(self, start: int, depth: int) -> Node:
        values: dict[str, object] = {}
        node = Node(start, start, values)
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self._wrong("a name in double quotes, or the end of the object, is missing", at)
            key, end = self._scalar(at)
            colon = self.gap(end)
            if self._text[colon : colon + 1] != ":":
                raise self._wrong("a colon is missing", colon)
            child = self.value(self.gap(colon + 1), depth + 1)
            values[str(key)] = child.value
            node.members[str(key)] = child
            node.children.append((at, child.end))
            at = self._after(child.end, "}")
        node.end = at + 1
        return node

    def _array(self, start: int, depth: int) -> Node:
        values: list[object] = []
        node = Node(start, start, values)
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "]":
            child = self.value(at, depth + 1)
            values.append(child.value)
            node.children.append((at, child.end))
            at = self._after(child.end, "]")
        node.end = at + 1
        return node

    def _after(self, at: int, closing: str) -> int:
        """The position of the next entry, or of the end of the container."""
        at = self.gap(at)
        if self._text[at : at + 1] == ",":
            return self.gap(at + 1)
        if self._text[at : at + 1] != closing:
            raise self._wrong("a comma is missing", at)
        return at

    def _scalar(self, at: int) -> tuple[object, int]:
        try:
            value, end = _SCALARS.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._wrong("this is no JSON", error.pos) from None
        return value, end

    def _wrong(self, problem: str, place: int) -> MalformedError:
        return MalformedError(problem, self._text, place)
