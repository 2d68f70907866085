"""Inboxes for tests that look at a channel alone."""

from upcall.domain.channel.showing import Heard, Inbound, View
from upcall.ports.channel import Line


class BareInbox:
    """Knows all people, shows and keeps nothing, and collects what it receives in `received`."""

    def __init__(self, *, again: bool = False) -> None:
        self.received: list[Inbound] = []
        self._again = again

    async def receive(self, inbound: Inbound) -> Heard:
        """Take it, or say that nothing can be kept just now."""
        self.received.append(inbound)
        return Heard(line="", accepted=not self._again, again=self._again)

    async def view(self, inquiry: str) -> View | None:
        """Nothing."""
        return None

    async def knows(self, user: str) -> bool:
        """Always."""
        return True

    async def failed(self, message: str, reason: str) -> bool:
        """Say that there is such a message."""
        return True

    async def found(self, inquiry: str, place: str, message: str) -> None:
        """Nothing is adopted."""

    async def say(self, line: Line) -> None:
        """Nothing is said."""

    async def connected(self) -> None:
        """Nothing was put off."""

    async def bookmark(self) -> str:
        """None."""
        return ""

    async def keep(self, bookmark: str) -> None:
        """Not here."""
