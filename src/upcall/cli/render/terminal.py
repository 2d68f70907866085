"""The terminal: its colours, unless NO_COLOR is set, and its size."""

import os
import sys
from typing import TextIO

NARROWEST = 20


class Paint:
    """Puts colours around words, or leaves them plain."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def bold(self, text: str) -> str:
        """Headings."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """Notes."""
        return self._in("2", text)

    def good(self, text: str) -> str:
        """Success."""
        return self._in("32", text)

    def bad(self, text: str) -> str:
        """Failure."""
        return self._in("31", text)

    def name(self, text: str) -> str:
        """Refs and commands, to be found at a glance."""
        return self._in("36", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and text else text


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream."""
    return stream.isatty()


def paint(stream: TextIO | None = None) -> Paint:
    """Colours for a stream: only for a terminal, and not where NO_COLOR is set."""
    target: TextIO = stream or sys.stdout
    dumb = os.environ.get("TERM") == "dumb"
    return Paint(on=is_terminal(target) and not dumb and not os.environ.get("NO_COLOR"))


def width(stream: TextIO | None = None) -> int | None:
    """The number of columns; None where the stream is no terminal and nothing is cut."""
    target: TextIO = stream or sys.stdout
    if not is_terminal(target):
        return None
    try:
        return max(os.get_terminal_size(target.fileno()).columns or 80, NARROWEST)
    except OSError:
        return 80


def height() -> int | None:
    """The number of rows; None where standard output is no terminal, or does not say."""
    if not is_terminal(sys.stdout):
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or None
    except OSError:
        return None
