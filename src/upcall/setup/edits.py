"""The kinds of change to a file: an entry in JSON, an item of a list in JSON, a table in TOML, lines in prose.

Each can be put in and taken out again; `before` is the text as it was before Upcall came, where that is known.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from upcall.setup import json_editing
from upcall.setup.faults import MalformedError
from upcall.setup.json_reading import read


class Edit(Protocol):
    """One change."""

    def put(self, text: str) -> str:
        """The text with it; the same text if it is there.

        Raises:
            MalformedError: if it cannot be put there.
        """
        ...

    def take(self, text: str, before: str | None) -> str:
        """The text without it, and with what it replaced.

        Raises:
            MalformedError: if the text cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A value at a path in JSON."""

    path: tuple[str, ...]
    value: object

    def put(self, text: str) -> str:
        """See `Edit`."""
        text = text if text.strip() else "{}\n"
        found = json_editing.find(text, self.path)
        if found is not None and found.value == self.value:
            return text
        return json_editing.put(text, self.path, self.value)

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        replaced = json_editing.find(before, self.path) if before and before.strip() else None
        if replaced is not None:
            return Entry(self.path, replaced.value).put(text)
        rest = json_editing.take(text, self.path)
        return text if rest == text else _pruned(rest, self.path[:-1], before)


@dataclass(frozen=True, slots=True)
class Item:
    """A word in a list at a path in JSON."""

    path: tuple[str, ...]
    item: str

    def put(self, text: str) -> str:
        """See `Edit`."""
        return json_editing.add(text if text.strip() else "{}\n", self.path, self.item)

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        known = json_editing.find(before, self.path) if before and before.strip() else None
        if known is not None and isinstance(known.value, list) and self.item in known.value:
            return text
        rest = json_editing.drop(text, self.path, self.item)
        return text if rest == text else _pruned(rest, self.path, before)


def _pruned(text: str, path: tuple[str, ...], before: str | None) -> str:
    """Without the containers that are empty now and were not there before."""
    while path:
        found = json_editing.find(text, path)
        known = json_editing.find(before, path) if before and before.strip() else None
        if found is None or found.value or known is not None:
            return text
        text, path = json_editing.take(text, path), path[:-1]
    return text


@dataclass(frozen=True, slots=True)
class Table:
    """A table in TOML under a line that says whose it is.

    It has no line that says where it ends: programs add tables of theirs at the end of the file, before the last remark.
    """

    name: tuple[str, ...]
    mark: str
    values: Mapping[str, str]
    """Written as TOML already."""

    def put(self, text: str) -> str:
        """See `Edit`."""
        known = _table(text, self.name)
        if known is not None and known == _table(self._text(), self.name):
            return text
        if known is not None and self.mark not in text:
            raise MalformedError(
                f"[{'.'.join(self.name)}] is there already, and not from `upcall setup`: take it out first",
                text,
                max(text.find(f"[{'.'.join(self.name)}"), 0),
            )
        text = self._without(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        changed = text + gap + self._text().replace("\n", newline)
        if _table(changed, self.name) is None:
            raise MalformedError("the table cannot be added", text, 0)
        return changed

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        changed = self._without(text)
        if changed != text and _table(changed, self.name) is not None:
            raise MalformedError(
                f"more has been added to [{'.'.join(self.name)}]: take it out first",
                text,
                text.find(self.mark),
            )
        return changed

    def _text(self) -> str:
        lines = [
            self.mark,
            f"[{'.'.join(self.name)}]",
            *(f"{key} = {self.values[key]}" for key in self.values),
        ]
        return "\n".join(lines) + "\n"

    def _without(self, text: str) -> str:
        """Our lines end with the first that is empty, a remark, or the head of another table."""
        ours = rf"(?:\r?\n)?{re.escape(self.mark)}[ \t]*\r?\n[ \t]*\[[^\r\n]*(?:\r?\n|\Z)(?:[ \t]*[\w\"'][^\r\n]*(?:\r?\n|\Z))*"
        return re.sub(ours, "", text, count=1)


def _table(text: str, name: tuple[str, ...]) -> object | None:
    found: object = _toml(text)
    for key in name:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def _toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = len("\n".join(text.split("\n")[: int(line[1]) - 1])) + 1 if line and line[1] != "1" else 0
        raise MalformedError(f"this is no TOML ({error})", text, place) from None


@dataclass(frozen=True, slots=True)
class Lines:
    """Words between two marks, in a file of prose."""

    words: str
    begin: str = "<!-- upcall: begin -->"
    end: str = "<!-- upcall: end -->"

    def put(self, text: str) -> str:
        """See `Edit`."""
        block = f"{self.begin}\n{self.words}\n{self.end}\n"
        if block in text:
            return text
        text = self.take(text, None)
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return text + gap + block

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        if text.count(self.begin) > 1 or text.count(self.begin) != text.count(self.end):
            raise MalformedError("the marks of Upcall's lines do not match", text, text.find(self.begin))
        ours = rf"\n?{re.escape(self.begin)}.*?{re.escape(self.end)}\n?"
        return re.sub(ours, "", text, count=1, flags=re.DOTALL)


class Dialect(Protocol):
    """What a file is written in."""

    def check(self, text: str) -> None:
        """Read it.

        Raises:
            MalformedError: if that fails.
        """
        ...

    def is_same(self, text: str, before: str) -> bool:
        """Whether two texts differ in nothing but white space and commas."""
        ...


@dataclass(frozen=True, slots=True)
class Json:
    """JSON; with comments where the program reads them."""

    comments: bool

    def check(self, text: str) -> None:
        """See `Dialect`."""
        if not text.strip():
            return
        if not self.comments:
            try:
                json.loads(text)
            except json.JSONDecodeError as error:
                raise MalformedError(f"this is no JSON ({error.msg})", text, error.pos) from None
            except RecursionError:
                raise MalformedError("it is nested too deeply", text, 0) from None
        if not isinstance(read(text).value, dict):
            raise MalformedError("the document is not an object", text, 0)

    def is_same(self, text: str, before: str) -> bool:
        """See `Dialect`."""
        if not text.strip() or not before.strip():
            return text.strip() in {"", "{}"} and before.strip() in {"", "{}"}
        return _dense(text) == _dense(before) and read(text).value == read(before).value


@dataclass(frozen=True, slots=True)
class Toml:
    """TOML."""

    def check(self, text: str) -> None:
        """See `Dialect`."""
        _toml(text)

    def is_same(self, text: str, before: str) -> bool:
        """See `Dialect`."""
        return _dense(text) == _dense(before) and _toml(text) == _toml(before)


@dataclass(frozen=True, slots=True)
class Prose:
    """Words."""

    def check(self, text: str) -> None:
        """Anything is prose."""

    def is_same(self, text: str, before: str) -> bool:
        """See `Dialect`."""
        return text.strip() == before.strip()


def _dense(text: str) -> str:
    return re.sub(r"[\s,]+", "", text)
