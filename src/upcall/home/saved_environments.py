"""The environment and the flags of an agent session, saved by its pipe so that the session can be resumed with them.

The pipe writes the file into the home itself: secrets of the environment travel over no connection, and a process that
cannot write there saves nothing. There is one file for each question, readable by its owner only; it is removed when the
question is closed.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FOLDER = "handed"
_OURS = "UPCALL_"
_OF_ONE_PROCESS = frozenset(
    {
        *("AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_SOCKET"),
        *("CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"),
        *("AGENT", "OPENCODE", "OPENCODE_PID", "GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH"),
    }
)
"""Variables that agent programs set for their child processes; they would be wrong in the resumed program."""


class SavedEnvironment(NamedTuple):
    """The variables and the flags that a session was started with; `whole` says that no variable is missing."""

    environment: dict[str, str]
    arguments: list[str]
    whole: bool


class SavedEnvironments:
    """The files of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def save(self, inquiry: str, started: SavedEnvironment) -> None:
        """Save the environment of a question's session, without the variables of Upcall itself."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        left_out = {name for name in started.environment if name.startswith(_OURS)} | _OF_ONE_PROCESS
        kept = {name: value for name, value in started.environment.items() if name not in left_out}
        file = self._file(inquiry)
        staged = file.with_name(f".{file.name}.{os.getpid()}")
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            json.dump(started._replace(environment=kept)._asdict(), opened)
        staged.replace(file)

    def read(self, inquiry: str) -> SavedEnvironment | None:
        """The environment that was saved for a question; None if there is none."""
        try:
            return SavedEnvironment(**json.loads(self._file(inquiry).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def has(self, inquiry: str) -> bool:
        """Whether something was left for a question."""
        # For every question that ends: `Path.exists` is the same at three times the cost.
        return os.path.exists(self._file(inquiry))  # noqa: PTH110

    def forget(self, inquiry: str) -> None:
        """Remove the file of a question."""
        self._file(inquiry).unlink(missing_ok=True)

    def inquiries(self) -> list[str]:
        """The questions with a saved environment."""
        with suppress(OSError):
            return [file.stem for file in self._folder.glob("*.json") if _is_id(file.stem)]
        return []

    def forget_unfinished(self, before: float) -> None:
        """Remove partial files, older than `before`, of pipes that were killed while they wrote."""
        for file in self._folder.glob(".*.json.*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before:
                    file.unlink()

    def _file(self, inquiry: str) -> Path:
        # Only an id that a daemon has made becomes part of a path.
        if not _is_id(inquiry):
            raise ValueError(f"{inquiry!r} is no id")
        return self._folder / f"{inquiry}.json"


def _is_id(name: str) -> bool:
    return name.replace("-", "").replace("_", "").isalnum()
