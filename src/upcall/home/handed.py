"""What a pipe leaves behind for the day on which its session is brought back: its environment, and flags of its program.

The pipe writes it into the home by itself, so it travels over no connection, and a process that cannot write there hands nothing
over. There is one file for each question, readable by its owner only, and it is removed when the question is over.
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
"""What programs add for the processes that they start, and what would be wrong in their own next process."""


class Handed(NamedTuple):
    """The variables and the flags with which a session was started; `whole` says that no variable is missing."""

    environment: dict[str, str]
    arguments: list[str]
    whole: bool


class Handovers:
    """The files of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def leave(self, inquiry: str, handed: Handed) -> None:
        """Keep what the session of a question needs, without what leads to Upcall itself."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        left_out = {name for name in handed.environment if name.startswith(_OURS)} | _OF_ONE_PROCESS
        kept = {name: value for name, value in handed.environment.items() if name not in left_out}
        file = self._file(inquiry)
        staged = file.with_name(f".{file.name}.{os.getpid()}")
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            json.dump(handed._replace(environment=kept)._asdict(), opened)
        staged.replace(file)

    def read(self, inquiry: str) -> Handed | None:
        """What was left for a question, if anything was."""
        try:
            return Handed(**json.loads(self._file(inquiry).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def has(self, inquiry: str) -> bool:
        """Whether something was left for a question."""
        return self._file(inquiry).exists()

    def forget(self, inquiry: str) -> None:
        """Remove it."""
        self._file(inquiry).unlink(missing_ok=True)

    def inquiries(self) -> list[str]:
        """The questions for which something was left."""
        with suppress(OSError):
            return [file.stem for file in self._folder.glob("*.json") if _is_id(file.stem)]
        return []

    def forget_unfinished(self, before: float) -> None:
        """Remove what pipes that were killed have begun to write before then."""
        for file in self._folder.glob(".*.json.*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before:
                    file.unlink()

    def _file(self, inquiry: str) -> Path:
        # It is a name that a daemon has made; nothing else becomes part of a path.
        if not _is_id(inquiry):
            raise ValueError(f"{inquiry!r} is no id")
        return self._folder / f"{inquiry}.json"


def _is_id(name: str) -> bool:
    return name.replace("-", "").replace("_", "").isalnum()
