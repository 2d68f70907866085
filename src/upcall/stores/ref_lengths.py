"""The length of the next ref: the shortest lengths fill up first and stay full for weeks."""

from upcall.domain.inquiry import refs

FORGET_LENGTH = 3600


class RefLengths:
    """Remembers for an hour which length had room, so that shorter ones need not be tried again and again."""

    def __init__(self) -> None:
        self._length = refs.SHORTEST
        self._known_until = 0.0

    def start(self, now: float) -> int:
        """The length to try first."""
        if now >= self._known_until:
            self._length, self._known_until = refs.SHORTEST, now + FORGET_LENGTH
        return self._length

    def grow(self) -> None:
        """Note that a length was full."""
        self._length = min(self._length + 1, refs.LONGEST)

    def used(self, ref: str) -> None:
        """Note a ref that was free."""
        self._length = len(ref)
