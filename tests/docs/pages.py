"""The pages as their tests read them: fenced blocks, tables, links, and the commands of a shell example."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
OPERATORS = {"|", "||", "&", "&&", ";", "(", ")", "<(", ">", ">>", "<"}

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"|<a[^>]* href=\"([^\"]+)\"")


class Block(NamedTuple):
    """A fenced block, and on which line of which page its content begins."""

    page: Path
    line: int
    language: str
    content: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str) -> Iterator[Block]:
    """Every block in one language, on every page."""
    for page in PAGES:
        text = page.read_text("utf-8")
        for found in _FENCE.finditer(text):
            if found[1] == language:
                yield Block(page, text[: found.start(2)].count("\n") + 1, language, found[2])


def links(page: Path) -> list[str]:
    """Where a page points to, apart from what only looks like a link inside code."""
    text = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text("utf-8")))
    return [next(target for target in found if target) for found in _LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as a browser's address bar has them."""
    prose = _FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of the table that has `first` above its first column, without their code marks."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def lines_of(script: str) -> list[str]:
    """The lines of a shell example, those that go on below put together."""
    return [line for line in script.replace("\\\n", " ").splitlines() if line.strip()]


def commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a shell example, each without what stands before it: variables, a client's own part."""
    for line in lines_of(script):
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if word in OPERATORS:
                yield from [command] if command else []
                command = []
            elif command or not re.fullmatch(r"\w+=.*", word, re.DOTALL):
                command.append(word)


def upcalls(script: str) -> Iterator[list[str]]:
    """The arguments of every `upcall` in a shell example, those that a client is told to start included."""
    for command in commands(script):
        if command[0] == "export":
            continue
        if command[0] == "upcall":
            yield command[1:]
        elif "--" in command and command[command.index("--") + 1 :][:1] == ["upcall"]:
            yield command[command.index("--") + 2 :]
        elif "exec" in command and command[command.index("exec") + 2 :][:1] == ["upcall"]:
            # In a container: docker compose exec SERVICE upcall …
            yield command[command.index("exec") + 3 :]


def mentioned(page: Path) -> Iterator[list[str]]:
    """The arguments of every `upcall …` that the prose of a page mentions."""
    for found in re.finditer(r"`upcall ([^`]+)`", _FENCE.sub("", page.read_text("utf-8"))):
        words = found[1].split()
        yield words[: words.index("--")] if "--" in words else words
