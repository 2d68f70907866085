"""Reading a shell's command line just far enough to be sure that it is one simple command.

A command that could mean more than a program and its arguments is not read, and neither is a doubtful one.
"""

import re
from collections.abc import Sequence
from typing import cast

_WORD = re.compile(
    r"(?:[A-Za-z0-9_./:@%+,=-]++"  # outside of quotes only what no shell has a use for
    r"|'[^'\\]*+'"
    r'|"[^"\\$`!]*+")++'
)
_QUOTED = re.compile(r"'([^']*+)'|\"([^\"]*+)\"")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SHELL_FOLDERS = frozenset(
    {"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/"}
)
"""Where a system has its shells. A program elsewhere only has the name of one, and may be the agent's own."""

_SHELL_FLAGS = frozenset({"-c", "-lc"})


def simple_words(command: object) -> tuple[str, ...] | None:
    """The program and its arguments, if that is all that a command can mean; None in every other case.

    A list is a program's arguments as they are. A shell that is only told to run a command stands for that command.
    """
    if isinstance(command, str):
        words = _split(command)
    elif isinstance(command, list | tuple) and all(isinstance(word, str) for word in command):
        words = tuple(str(word) for word in command)
    else:
        return None
    if words is None or not _is_program(words):
        return None
    if len(words) == 3 and _runs_script(words):
        inner = _split(words[2])
        return inner if inner is not None and _is_program(inner) else None
    return words


def unclear_in(command: object) -> str:
    """What makes a command more than one simple command: a character, or the variable that it sets; empty where nothing does."""
    if simple_words(command) is not None:
        return ""
    if not isinstance(command, str):
        listed = cast("Sequence[object]", command) if isinstance(command, list) else ()
        return _unclear_words([str(word) for word in listed])
    words = _split(command)
    return _unclear_character(command.strip(" ")) if words is None else _unclear_words(words)


def _unclear_words(words: Sequence[str]) -> str:
    if len(words) == 3 and _runs_script(words):
        return unclear_in(words[2])
    hidden = next((character for word in words for character in word if not character.isprintable()), "")
    if hidden or not words:
        return hidden
    variable, sets, _ = words[0].partition("=")
    return f"{variable}=" if sets else "="


def _unclear_character(command: str) -> str:
    """The first character that ends what is surely read."""
    at = 0
    while at < len(command) and command[at].isprintable():
        found = _WORD.match(command, at)
        at = at if found is None else found.end()
        if command[at : at + 1] != " ":
            break
        at += 1
    at = min(at, len(command) - 1)
    if command[at] not in "'\"":
        return command[at]
    # What a shell replaces inside of quotation marks, or the mark itself, which is never closed.
    inside = command[at + 1 :].partition(command[at])[0]
    return next((character for character in inside if character in "\\$`!"), command[at])


def is_shell(start: str) -> bool:
    """Whether this is how a shell is started that runs the script that follows, and nothing else."""
    words = _split(start)
    return words is not None and len(words) == 2 and _runs_script(words)


def _runs_script(words: Sequence[str]) -> bool:
    folder, slash, name = words[0].rpartition("/")
    return name in _SHELLS and folder + slash in _SHELL_FOLDERS and words[1] in _SHELL_FLAGS


def _split(command: str) -> tuple[str, ...] | None:
    # Only blanks separate: any other white space may end a command, or belong to a word.
    words: list[str] = []
    for piece in _pieces(command.strip(" ")):
        if piece is None:
            return None
        words.append(_QUOTED.sub(lambda found: found[1] or found[2] or "", piece))
    return tuple(words)


def _pieces(command: str) -> Sequence[str | None]:
    pieces: list[str | None] = []
    at = 0
    if not command.isprintable():
        return [None]
    while at < len(command):
        found = _WORD.match(command, at)
        if found is None or command[found.end() : found.end() + 1] not in ("", " "):
            return [None]
        pieces.append(found[0])
        at = found.end()
        while command[at : at + 1] == " ":
            at += 1
    return pieces


def _is_program(words: Sequence[str]) -> bool:
    """Whether the first word names a program: it sets no variable, and no word is one that a shell would replace."""
    if not words or not words[0] or "=" in words[0] or any(word.startswith("=") for word in words):
        return False
    return all(word.isprintable() for word in words)
