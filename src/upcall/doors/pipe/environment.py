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

FOLDERS = ("HOME", "XDG_DATA_HOME", "GEMINI_CLI_HOME")
"""The variables that say where opencode and Gemini CLI keep the records of their sessions."""


def save_environment(pipe: Pipe, home: Home, inquiry: str) -> bool:
    """Save the environment of this pipe and the flags of its program. The supervisor has those of its runs already.

    Returns whether there may be a file now.
    """
    program, session = session_of(pipe)
    if program is None or "UPCALL_RUN" in os.environ:
        return False
    environment = dict(os.environ)
    if session is None:
        # It cannot be resumed. Its folders alone are saved, so that what led to the question is found.
        environment = {name: value for name, value in environment.items() if name in FOLDERS}
    if program == "codex" and (own := _parents_variable("CODEX_HOME")):
        environment["CODEX_HOME"] = own
    handed = SavedEnvironment(
        environment=environment,
        arguments=[] if session is None else kept_flags(program, parent_words(), _parents_folder()),
        whole=program in WHOLE and session is not None,
    )
    # A full disk is no reason to lose the question.
    with suppress(OSError, ValueError):
        SavedEnvironments(home.path).save(inquiry, handed)
    return True


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


def _parents_variable(name: str) -> str:
    """A variable of the parent, for a program that does not give it to its servers; empty where the system does not show it."""
    try:
        pairs = Path(f"/proc/{os.getppid()}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    lead = f"{name}=".encode()
    return next((os.fsdecode(pair.removeprefix(lead)) for pair in pairs if pair.startswith(lead)), "")
