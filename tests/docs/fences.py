"""Fenced blocks of the pages, with what the comment directly above one says about how it is run.

    <!-- a7: asked "Deploy where?" -o staging -o production -->
    ```sh
    upcall answer a7 2
    ```

A comment has one remark on each line, `key: value`:

* `not run`: the reason why no test runs the block
* `except`: a command of the block that is not run, ` -- `, and the reason
* `run by`: the test that does, as `tests/folder/test_file.py::test_name`
* `before`: a line of shell that makes the situation
* `have`: agents' programs that the reader has installed before; `version of` those that are only to tell it
* `file`: the block is a file of this name, written before what follows
* `answer`: a person answers with these words all that is asked meanwhile
* `types`: a person types these words at the terminal of each command; otherwise the commands have no terminal
* `exits`: the exit codes of the block's commands in their order, the last one also for those that follow; 0 otherwise
* `shows`: a command of the block prints these words
* `endless`: the block's last command does not end by itself; once it has printed these words, it is ended
* anything else stands for itself in the block, like `a7` above: each command that has the word is given what the value,
  a line of shell, prints
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import PAGES

SHELL = ("sh", "console")
LANGUAGES = frozenset({*SHELL, "text", "json", "toml", "python", "pycon", "yaml", "nginx", "caddyfile"})
KEYS = (
    "not run",
    "except",
    "run by",
    "before",
    "have",
    "file",
    "answer",
    "types",
    "exits",
    "shows",
    "endless",
)

_FENCE = re.compile(
    r"^(?P<comments>(?:[ \t]*<!--(?:(?!-->).)*?-->[ \t]*\n)*)(?P<indent> *)(?P<ticks>```+)(?P<language>\w*)\n(?P<content>.*?)^ *(?P=ticks)$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)


class Fence(NamedTuple):
    """A block, and what is remarked about it."""

    page: Path
    line: int
    language: str
    content: str
    remarks: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    def said(self, key: str) -> list[str]:
        """The values of a key."""
        return [value for name, value in self.remarks if name == key]

    @property
    def excused(self) -> bool:
        """Whether the walk leaves it out."""
        return bool(self.said("not run") or self.said("run by"))

    @property
    def stand_ins(self) -> dict[str, list[str]]:
        """Words of the block that stand for something else, each with lines of shell that print it."""
        found: dict[str, list[str]] = {}
        for key, value in self.remarks:
            if key not in KEYS:
                found.setdefault(key, []).append(value)
        return found

    @property
    def left_out(self) -> dict[str, str]:
        """Single commands that are not run, and why."""
        return dict(value.split(" -- ", 1) for value in self.said("except"))

    @property
    def steps(self) -> Iterator[tuple[str, list[str]]]:
        """The commands, each with the lines that the page shows as printed."""
        if self.language == "console":
            for step in re.split(r"^\$ ", self.content, flags=re.MULTILINE)[1:]:
                command, *printed = step.splitlines()
                yield command, [line for line in printed if line.strip()]
            return
        for line in self.content.replace("\\\n", " ").splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield line.strip(), []


def remarks(comments: str) -> Iterator[tuple[str, str]]:
    """What comments say, line by line."""
    for comment in _COMMENT.findall(comments):
        for line in comment.strip().splitlines():
            key, colon, value = line.strip().partition(": ")
            yield (key, value.strip()) if colon else ("", line.strip())


def fences(pages: list[Path] = PAGES) -> Iterator[Fence]:
    """Every block of every page."""
    for page in pages:
        text = page.read_text("utf-8")
        for found in _FENCE.finditer(text):
            line = text[: found.start("content")].count("\n") + 1
            said = tuple(remarks(found["comments"]))
            indent = re.compile(rf"^ {{{len(found['indent'])}}}", re.MULTILINE)
            yield Fence(page, line, found["language"], indent.sub("", found["content"]), said)
