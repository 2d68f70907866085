"""What keeps a file from being changed."""

from pathlib import Path

from upcall.domain.errors import UpcallError


class UnusableFile(UpcallError):
    """A program's settings are not as they have to be, and are left alone."""

    code = "unusable_file"


class MalformedError(Exception):
    """A text that cannot be read, and where."""

    def __init__(self, problem: str, text: str, place: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = text.count("\n", 0, place) + 1


def unusable(path: Path, problem: str, *, line: int | None = None) -> UnusableFile:
    """The complaint about a file."""
    place = f"{path}, line {line}" if line else str(path)
    return UnusableFile(
        f"{place}: {problem}; nothing was changed",
        hint="put that right, or set Upcall up by hand: docs/agents.md",
    )
