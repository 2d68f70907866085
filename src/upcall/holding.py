"""Which agents' sessions have somebody at the other end of a pipe, so that nobody starts them a second time."""

import re
from collections import Counter
from collections.abc import Callable

RESUMABLE = frozenset({"claude", "codex"})
"""Programs that tell their session, and can be resumed by it."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_resumable(program: str, session: str | None) -> bool:
    """Whether a session is one: it becomes an argument of its program, where nothing else must ever get to."""
    return program in RESUMABLE and session is not None and _SESSION.fullmatch(session) is not None


def session_name(program: str, session: str) -> str:
    """What a program's session is called among all sessions."""
    return f"{program}:{session}"


class Held:
    """Counts the connections of each session. `released` hears of those that have none any more."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.released: Callable[[str], None] = lambda name: None

    def take(self, name: str) -> None:
        """One more connection of a session."""
        self._counts[name] += 1

    def release(self, name: str) -> None:
        """One connection less."""
        self._counts[name] -= 1
        if self._counts[name] <= 0:
            del self._counts[name]
            self.released(name)

    def __contains__(self, name: object) -> bool:
        return name in self._counts
