"""The folder that a question is about, unless the program or the command names another."""

from pathlib import Path

LONGEST = 1000


def current_folder() -> str | None:
    """The current folder; None where it was removed, or where its path is too long to be shown."""
    try:
        here = str(Path.cwd())
    except OSError:
        return None
    return here if len(here) <= LONGEST else None
