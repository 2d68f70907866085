"""Errors of files that cannot be changed."""

from pathlib import Path

from upcall.domain.errors import UpcallError


class UnusableFile(UpcallError):
    """A settings file of a program cannot be changed, and stays as it is."""

    code = "unusable_file"


class MalformedError(Exception):
    """A text that cannot be parsed, with the line of the problem."""

    def __init__(self, problem: str, text: str, place: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = text.count("\n", 0, place) + 1


def unusable(path: Path, problem: str, *, line: int | None = None) -> UnusableFile:
    """The error about a file, with its line."""
    place = f"{path}, line {line}" if line else str(path)
    return UnusableFile(
        f"{place}: {problem}; nothing was changed",
        hint="put that right, or set Upcall up by hand: docs/agents.md",
    )
