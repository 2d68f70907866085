"""Which agents' sessions have somebody at the other end of a pipe, so that nobody starts them a second time."""

from collections import Counter
from collections.abc import Callable


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
