"""A pipe saves its environment in the home while a question of its session is open: a resumed process needs it."""

import os
from contextlib import suppress
from pathlib import Path

from upcall.doors.pipe.agent_side import Pipe, session_of
from upcall.doors.pipe.own_flags import kept_flags, parent_words
from upcall.home.files import Home
from upcall.home.saved_environments import SavedEnvironment, SavedEnvironments

WHOLE = ("claude", "opencode")
"""Programs that give their servers every variable. Codex gives them a few, and Gemini CLI none that look like a secret."""


def save_environment(pipe: Pipe, home: Home, inquiry: str) -> None:
    """Save the environment of this pipe and the flags of its program. The supervisor has those of its runs already."""
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


def forget_environment(home: Home, inquiry: str) -> None:
    """Delete what was saved for an inquiry: the agent has its answer."""
    with suppress(OSError, ValueError):
        SavedEnvironments(home.path).forget(inquiry)


def _parents_folder() -> str:
    """The working directory of the parent, from which the paths in its flags are resolved."""
    try:
        return str(Path(f"/proc/{os.getppid()}/cwd").readlink())
    except OSError:
        return ""
