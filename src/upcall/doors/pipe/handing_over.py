"""A pipe leaves in the home what a later process of its session needs, while a question of that session waits."""

import os
from contextlib import suppress
from pathlib import Path

from upcall.doors.pipe.agent_side import Pipe, session_of
from upcall.doors.pipe.own_flags import kept_flags, parent_words
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironment, SavedEnvironments

WHOLE = ("claude", "opencode")
"""Programs that give their servers every variable. Codex gives them a few, and Gemini CLI none that look like a secret."""


def hand_over(pipe: Pipe, home: Home, inquiry: str) -> None:
    """Leave our environment and our program's flags; a run of ours has both already."""
    program, session = session_of(pipe)
    if program is None or session is None or "UPCALL_RUN" in os.environ:
        return
    handed = SavedEnvironment(
        environment=dict(os.environ),
        arguments=kept_flags(program, parent_words(), _parents_folder()),
        whole=program in WHOLE,
    )
    # A full disk is no reason to lose the question.
    with suppress(OSError, ValueError):
        SavedEnvironments(home.path).save(inquiry, handed)


def take_back(home: Home, inquiry: str) -> None:
    """The agent has its answer, so nothing has to be brought back."""
    with suppress(OSError, ValueError):
        SavedEnvironments(home.path).forget(inquiry)


def _parents_folder() -> str:
    """Where our parent works: the files that its flags name are found from there."""
    try:
        return str(Path(f"/proc/{os.getppid()}/cwd").readlink())
    except OSError:
        return ""
