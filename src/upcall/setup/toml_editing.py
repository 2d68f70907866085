"""A table in another program's TOML, put in and taken out again by a parser that keeps every other byte."""

import re
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Item
from tomlkit.toml_document import TOMLDocument

from upcall.setup.errors import MalformedError

MAY_BE_TABLES = ("env",)
"""Keys of ours that can be a table; any other table was added later."""


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table in TOML under a line that says who wrote it.

    Where its parent is written on one line, `parent = { … }`, it becomes an entry there, and the line above says so.
    """

    name: tuple[str, str]
    mark: str
    inline_mark: str
    values: Mapping[str, object]

    def put(self, text: str) -> str:
        """See `Edit`."""
        known = _found(text, self.name)
        if known is not None and known == self.values:
            return text
        if known is not None and not self._is_ours(text):
            raise MalformedError(
                f"[{'.'.join(self.name)}] is there already, and not from `upcall setup`: take it out first",
                text,
                max(text.find(self.name[1]), 0),
            )
        text = self._without(text)
        document = _parsed(text)
        parent = document.get(self.name[0], {})
        if not isinstance(parent, MutableMapping):
            raise MalformedError(f"{self.name[0]} is not a table", text, max(text.find(self.name[0]), 0))
        changed = self._inside(document, parent) if isinstance(parent, InlineTable) else self._below(text)
        if _found(changed, self.name) is None:
            raise MalformedError("the table cannot be added", text, 0)
        return changed

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        known = _found(text, self.name)
        if known is None or not self._is_ours(text):
            return text
        more = [key for key, value in known.items() if isinstance(value, dict) and key not in MAY_BE_TABLES]
        if more:
            raise MalformedError(
                f"more has been added to [{'.'.join(self.name)}] ({', '.join(more)}): take it out first",
                text,
                text.find(self.mark),
            )
        return self._without(text)

    def _is_ours(self, text: str) -> bool:
        return self.mark in text or self.inline_mark in text

    def _below(self, text: str) -> str:
        """At the end of the file, where programs add tables of theirs as well."""
        newline = _newline(text)
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        lines = [self.mark, f"[{'.'.join(self.name)}]"]
        lines += [f"{key} = {_item(value).as_string()}" for key, value in self.values.items()]
        return text + gap + newline.join(lines) + newline

    def _inside(self, document: TOMLDocument, parent: InlineTable) -> str:
        entry = tomlkit.inline_table()
        for key, value in self.values.items():
            entry.append(key, _item(value))
        parent.append(self.name[1], entry)
        text = document.as_string()
        line = re.compile(rf"^(?=[ \t]*[\"']?{re.escape(self.name[0])}[\"']?[ \t]*=)", re.MULTILINE)
        return line.sub(lambda _: self.inline_mark + _newline(text), text, count=1)

    def _without(self, text: str) -> str:
        document = _parsed(text)
        parent = document.get(self.name[0])
        if isinstance(parent, MutableMapping) and self.name[1] in parent and self._is_ours(text):
            del parent[self.name[1]]
        rest = document.as_string()
        for mark, gap in ((self.mark, r"(?:\r?\n)?"), (self.inline_mark, "")):
            rest = re.sub(rf"{gap}{re.escape(mark)}[ \t]*(?:\r?\n|\Z)", "", rest, count=1)
        return rest


@dataclass(frozen=True, slots=True)
class TomlDialect:
    """TOML."""

    def check(self, text: str) -> None:
        """See `Dialect`."""
        _read(text)

    def is_same(self, text: str, before: str) -> bool:
        """See `Dialect`."""
        return re.sub(r"[\s,]+", "", text) == re.sub(r"[\s,]+", "", before) and _read(text) == _read(before)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _item(value: object) -> Item:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table.append(str(key), _item(inner))
        return table
    return tomlkit.item(list(value) if isinstance(value, tuple) else value)


def _parsed(text: str) -> TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise MalformedError(f"this is no TOML ({error})", text, 0) from None


def _found(text: str, name: tuple[str, str]) -> Mapping[str, object] | None:
    parent = _read(text).get(name[0])
    found = parent.get(name[1]) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else None


def _read(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = len("\n".join(text.split("\n")[: int(line[1]) - 1])) + 1 if line and line[1] != "1" else 0
        raise MalformedError(f"this is no TOML ({error})", text, place) from None
