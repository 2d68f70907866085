"""What pipes tell about agents: which sessions have somebody at the other end, and which answers were taken there.

So nobody is started a second time who is still there, or who has got all that it asked for.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable

RESUMABLE = frozenset({"claude", "codex", "opencode", "gemini"})
"""Programs that tell their session, and can be resumed by it."""

CONTINUED = frozenset({"opencode", "gemini"})
"""Programs that do not tell their session, and that a person can have go on with the latest one of a folder."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_resumable(program: str, session: str | None) -> bool:
    """Whether a session is one: it becomes an argument of its program, where nothing else must ever get to."""
    return program in RESUMABLE and session is not None and _SESSION.fullmatch(session) is not None


def session_name(program: str, session: str) -> str:
    """What a program's session is called among all sessions."""
    return f"{program}:{session}"


class Taken:
    """Answers that the agents of runs have taken from their pipes, by the number of the run.

    Only in memory: pipes tell the next daemon what their agents have taken lately. One that hears nothing of it resumes a
    run that has ended well once more than it had to, with an answer that it had, and no answer is lost.
    """

    def __init__(self) -> None:
        self._inquiries: dict[int, set[str]] = {}

    def add(self, run: int, inquiry: str) -> None:
        """The agent of a run has taken the answer to an inquiry."""
        self._inquiries.setdefault(run, set()).add(inquiry)

    def by(self, run: int) -> Collection[str]:
        """The inquiries whose answers the latest process of a run has taken."""
        return self._inquiries.get(run, ())

    def forget(self, run: int) -> None:
        """Its process has ended: what it had taken is used by nobody any more."""
        self._inquiries.pop(run, None)


class Held:
    """Counts the connections of each session. `released` hears of those that have none any more."""

    def __init__(self) -> None:
        self.taken = Taken()
        self.asking: Counter[str] = Counter()
        """The inquiries whose askers are connected, with the number of their connections."""
        self._counts: Counter[str] = Counter()
        self.released: Callable[[str], None] = lambda name: None

    def take(self, name: str) -> None:
        """One more connection of a session."""
        self._counts[name] += 1

    def ask(self, inquiry: str) -> None:
        """A connection has asked something."""
        self.asking[inquiry] += 1

    def hang_up(self, inquiries: Iterable[str]) -> None:
        """A connection that has asked these is gone."""
        for inquiry in inquiries:
            self.asking[inquiry] -= 1
            if self.asking[inquiry] <= 0:
                del self.asking[inquiry]

    def release(self, name: str) -> None:
        """One connection less."""
        self._counts[name] -= 1
        if self._counts[name] <= 0:
            del self._counts[name]
            self.released(name)

    def __contains__(self, name: object) -> bool:
        return name in self._counts
