"""The flags of the program that started a pipe, as far as a resumed session needs them and they give it no more permission.

Read from the parent's command line, which Linux shows to its owner; elsewhere there are none.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

KEPT = {
    "claude": frozenset(
        {"--mcp-config", "--strict-mcp-config", "--model", "--fallback-model", "--add-dir", "--agents"}
    ),
    "codex": frozenset({"-c", "--config", "-m", "--model"}),
    "opencode": frozenset({"-m", "--model", "--agent"}),
    "gemini": frozenset({"-m", "--model", "--include-directories"}),
}
"""What a session keeps, by program. Nothing that decides what may be done without asking is among it."""

SESSION = {
    "opencode": frozenset({"-s", "--session"}),
    "gemini": frozenset({"--session-id", "--resume", "-r"}),
}
"""Where programs that do not tell their session have it on their command line, if a person put it there."""

PATHS = frozenset({"--mcp-config", "--add-dir"})
CODEX_SETTINGS = ("mcp_servers.", "model=", "model_provider", "model_providers.")
ALONE = frozenset({"--strict-mcp-config"})


def parent_words() -> list[str]:
    """The words of the command line that our parent was started with."""
    return words_of(os.getppid())


def words_of(process: int) -> list[str]:
    """The words of the command line that a process was started with."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def kept_flags(program: str, words: Sequence[str], cwd: str) -> list[str]:
    """The flags that a session is resumed with. Files are named so that they are found from any folder."""
    kept: list[str] = []
    for name, values in _options(words):
        if name not in KEPT.get(program, ()) or (not values and name not in ALONE):
            continue
        if name in {"-c", "--config"} and not values[0].startswith(CODEX_SETTINGS):
            continue
        several = values if name in PATHS else values[:1]
        found = [_found(value, cwd) if name in PATHS else value for value in several]
        kept += [name, *([] if name in ALONE else found)]
    return kept


def session_in(program: str, words: Sequence[str]) -> str | None:
    """The session that a command line names."""
    named = [values[0] for name, values in _options(words) if name in SESSION.get(program, ()) and values]
    return (
        named[-1] if named and any(letter.isdigit() for letter in named[-1]) and len(named[-1]) > 4 else None
    )


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each option with the words after it, up to the next option."""
    name, values = "", list[str]()
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and len(word) > 1:
            if name:
                yield name, values
            name, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
            values = [value] if joined else []
        elif name:
            values.append(word)
    if name:
        yield name, values


def _found(value: str, cwd: str) -> str:
    path = Path(cwd) / value
    return value if value.lstrip().startswith("{") or not path.exists() else str(path)
