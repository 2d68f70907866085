"""Agent sessions that are connected through a pipe, and the answers that their agents have taken.

The supervisor reads both before it resumes a session: one that is connected, or has all its answers, is not started again.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable

RESUMABLE = frozenset({"claude", "codex", "opencode", "gemini"})
"""Programs that report their session id and can be resumed by it."""

CONTINUED = frozenset({"opencode", "gemini"})
"""Programs that do not report their session id; a person can continue the latest session of a folder."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_resumable(program: str, session: str | None) -> bool:
    """Whether a session id is safe and known to its program: it becomes an argument on a command line."""
    return program in RESUMABLE and session is not None and _SESSION.fullmatch(session) is not None


def session_name(program: str, session: str) -> str:
    """The name of a program's session among all sessions."""
    return f"{program}:{session}"


class TakenAnswers:
    """The inquiries that the agent of each run has taken the answer to, from its pipe.

    Kept in memory only: pipes repeat to the next daemon what their agents took lately. Without that, a finished run is
    resumed once too often with an answer it already has; no answer is lost.
    """

    def __init__(self) -> None:
        self._inquiries: dict[int, set[str]] = {}

    def add(self, run: int, inquiry: str) -> None:
        """Note that the agent of a run has taken the answer to an inquiry."""
        self._inquiries.setdefault(run, set()).add(inquiry)

    def by(self, run: int) -> Collection[str]:
        """The inquiries that the latest process of a run has taken the answers to."""
        return self._inquiries.get(run, ())

    def forget(self, run: int) -> None:
        """Drop the entries of a run: its process has ended."""
        self._inquiries.pop(run, None)


class ConnectedSessions:
    """Counts the connections of each session; calls `on_disconnect` with the name of a session that lost its last one."""

    def __init__(self) -> None:
        self.taken = TakenAnswers()
        self.asking: Counter[str] = Counter()
        """The inquiries with a connected asker, each with the number of its connections."""
        self._counts: Counter[str] = Counter()
        self.on_disconnect: Callable[[str], None] = lambda name: None

    def connect(self, name: str) -> None:
        """Count one more connection of a session."""
        self._counts[name] += 1

    def start_asking(self, inquiry: str) -> None:
        """Count a connection that asks this inquiry."""
        self.asking[inquiry] += 1

    def stop_asking(self, inquiries: Iterable[str]) -> None:
        """Uncount a connection that asked these inquiries: it has closed, or has the answers."""
        for inquiry in inquiries:
            self.asking[inquiry] -= 1
            if self.asking[inquiry] <= 0:
                del self.asking[inquiry]

    def disconnect(self, name: str) -> None:
        """Count one connection of a session less."""
        self._counts[name] -= 1
        if self._counts[name] <= 0:
            del self._counts[name]
            self.on_disconnect(name)

    def __contains__(self, name: object) -> bool:
        return name in self._counts
