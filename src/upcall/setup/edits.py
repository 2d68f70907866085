"""The kinds of change to a file: an entry in JSON, an item or an object of a list in JSON, lines in prose; `toml_editing` has tables.

Each can be put in and taken out again; `before` is the text as it was before Upcall came, where that is known.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol, cast

from upcall.setup import json_editing
from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import read

PROGRAM = "upcall"
"""In every command of ours: the name of the script, or of the module."""


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
class JsonEntry:
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
            return JsonEntry(self.path, replaced.value).put(text)
        rest = json_editing.take(text, self.path)
        return text if rest == text else _pruned(rest, self.path[:-1], before)


@dataclass(frozen=True, slots=True)
class JsonItem:
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


@dataclass(frozen=True, slots=True)
class JsonGroup:
    """A group of hooks in a list at a path in JSON. It takes the place of an earlier one of ours, whose command has the words of `mark`.

    A hook of ours that was moved into a group of other hooks is taken out of it, and the others stay.
    """

    path: tuple[str, ...]
    value: object
    mark: str

    def put(self, text: str) -> str:
        """See `Edit`."""
        text = text if text.strip() else "{}\n"
        if self._ours(text) == [self.value]:
            return text
        return json_editing.add(self._without(text), self.path, self.value)

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        rest = self._without(text)
        return text if rest == text else _pruned(rest, self.path, before)

    def _without(self, text: str) -> str:
        for item in self._ours(text):
            text = json_editing.drop(text, self.path, item)
            others = [hook for hook in item["hooks"] if not self._is_ours(hook)]
            if others:
                text = json_editing.add(text, self.path, {**item, "hooks": others})
        return text

    def _ours(self, text: str) -> list[dict[str, Any]]:
        """The groups with a hook of ours."""
        found = json_editing.find(text, self.path) if text.strip() else None
        items = found.value if found is not None and isinstance(found.value, list) else []
        groups = [item for item in items if isinstance(item, dict) and isinstance(item.get("hooks"), list)]
        return [group for group in groups if any(map(self._is_ours, group["hooks"]))]

    def _is_ours(self, hook: object) -> bool:
        command = cast("dict[str, Any]", hook).get("command") if isinstance(hook, dict) else None
        # What follows the mark are further words.
        return isinstance(command, str) and PROGRAM in command and f"{self.mark} " in f"{command} "


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
class MarkedLines:
    """Lines between two marks, in a file of prose."""

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


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file of our own, which begins with `mark`."""

    text: str
    mark: str

    def put(self, text: str) -> str:
        """See `Edit`."""
        if text.strip() and not text.startswith(self.mark):
            raise MalformedError("it was not written by Upcall", text, 0)
        return self.text

    def take(self, text: str, before: str | None) -> str:
        """See `Edit`."""
        return "" if text.startswith(self.mark) else text


class Dialect(Protocol):
    """The format of a file."""

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
class JsonDialect:
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
class ProseDialect:
    """Plain text or Markdown."""

    def check(self, text: str) -> None:
        """Every text is valid."""

    def is_same(self, text: str, before: str) -> bool:
        """See `Dialect`."""
        return text.strip() == before.strip()


def _dense(text: str) -> str:
    return re.sub(r"[\s,]+", "", text)
