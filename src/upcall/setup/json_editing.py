"""Changing one entry of a JSON text, and nothing else in it: comments, order and indentation stay as they are."""

import json
import re
from collections.abc import Sequence
from typing import cast

from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import GAP, Node, read

Path = Sequence[str]

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)")
_INDENT = re.compile(r"[ \t]*")


def find(text: str, path: Path) -> Node | None:
    """The value at a path."""
    node: Node | None = read(text)
    for name in path:
        node = None if node is None else node.members.get(name)
    return node


def put(text: str, path: Path, value: object) -> str:
    """The text with a value at a path; containers on the way are made."""
    node, rest = read(text), list(path)
    while rest and rest[0] in node.members:
        node = node.members[rest.pop(0)]
    if not rest:
        indent = _indent_of(text, node.start) if "\n" in text else None
        entry = _rendered(value, indent, _unit(text)).replace("\n", _newline(text))
        return text[: node.start] + entry + text[node.end :]
    _demand(text, node, "{", path[: len(path) - len(rest)])
    name, *inner = rest
    for key in reversed(inner):
        value = {key: value}
    return _inserted(text, node, value, name)


def add(text: str, path: Path, item: object) -> str:
    """The text with an item in the list at a path, which is made if need be."""
    node = find(text, path)
    if node is None:
        return put(text, path, [item])
    _demand(text, node, "[", path)
    return text if item in cast("list[object]", node.value) else _inserted(text, node, item)


def take(text: str, path: Path) -> str:
    """The text without what stands at a path."""
    holder = find(text, path[:-1])
    if holder is None or path[-1] not in holder.members:
        return text
    end = holder.members[path[-1]].end
    return _removed(text, holder, next(n for n, span in enumerate(holder.children) if span[1] == end))


def drop(text: str, path: Path, item: object) -> str:
    """The text without an item of the list at a path."""
    node = find(text, path)
    if node is None or not isinstance(node.value, list) or item not in node.value:
        return text
    return _removed(text, node, node.value.index(item))


def _demand(text: str, node: Node, opening: str, path: Path) -> None:
    if text[node.start] != opening:
        kind = "an object" if opening == "{" else "a list"
        where = ".".join(path) or "the document"
        raise MalformedError(f"{where} is not {kind}", text, node.start)


def _inserted(text: str, holder: Node, value: object, name: str | None = None) -> str:
    """A new last entry, on a line of its own where the others have one."""
    newline = _newline(text)
    label = "" if name is None else f"{json.dumps(name)}: "
    if not holder.children:
        return _filled(text, holder, label, value, newline)
    lead = _lead(text, holder)
    _, end = holder.children[-1]
    comma = _gap(text, end)
    if text[comma] == ",":
        head, at, tail = text[: comma + 1], comma + 1, ","
    else:
        head, at, tail = f"{text[:end]},", end, ""
    if lead is None:
        return f"{head} {label}{_rendered(value, None, '')}{tail}{text[at:]}"
    # What is said about the last entry stays on its line.
    remark = _REST_OF_LINE.match(text, at)
    after = remark.end() if remark and remark.end() < holder.end else at
    entry = label + _rendered(value, lead, _unit(text))
    return head + text[at:after] + newline + lead + entry.replace("\n", newline) + tail + text[after:]


def _filled(text: str, holder: Node, label: str, value: object, newline: str) -> str:
    inside = text[holder.start + 1 : holder.end - 1].rstrip()
    if "\n" not in text and text[: holder.start].strip():
        return f"{text[: holder.start + 1]}{label}{_rendered(value, None, '')}{text[holder.end - 1 :]}"
    outer = _indent_of(text, holder.start)
    inner = outer + _unit(text)
    entry = (label + _rendered(value, inner, _unit(text))).replace("\n", newline)
    opened = text[: holder.start + 1] + inside
    return f"{opened}{newline}{inner}{entry}{newline}{outer}{text[holder.end - 1 :]}"


def _removed(text: str, holder: Node, index: int) -> str:
    start, end = holder.children[index]
    start = len(text[:start].rstrip())
    comma = _gap(text, end)
    if text[comma] == ",":
        text = text[:start] + text[end:comma] + text[comma + 1 :]
    else:
        text = text[:start] + text[end:]
        if index:
            before = _gap(text, holder.children[index - 1][1])
            text = text[:before] + text[before + 1 :]
    if len(holder.children) == 1:
        closing = _gap(text, holder.start + 1)
        if not text[holder.start + 1 : closing].strip():
            text = text[: holder.start + 1] + text[closing:]
    return text


def _rendered(value: object, indent: str | None, unit: str) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{indent}")


def _lead(text: str, holder: Node) -> str | None:
    """The indentation of the first entry; None if it is on the line of its bracket."""
    first = holder.children[0][0]
    line = text.rfind("\n", 0, first) + 1
    return text[line:first] if line > holder.start and not text[line:first].strip() else None


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    root = read(text)
    return (_lead(text, root) if root.children else None) or "  "


def _indent_of(text: str, at: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


def _gap(text: str, at: int) -> int:
    found = GAP.match(text, at)
    return found.end() if found else at
