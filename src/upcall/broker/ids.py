"""The ids of inquiries, in the order of asking."""

from random import Random

from upcall.domain.inquiry.refs import inquiry_id


class Ids:
    """Makes the ids of one process."""

    def __init__(self, random: Random | None = None) -> None:
        self._last = (0, 0)
        # Ids are unique, not secret. Asking the system for chance would let go of the interpreter for each of them,
        # and getting it back from the store's busy thread takes longer than everything else about an id.
        self._random = random or Random()  # noqa: S311

    def next(self, now_ms: int) -> str:
        """An id that sorts after all before it, within a millisecond too and even when the clock is set back."""
        last_ms, entropy = self._last
        if now_ms > last_ms:
            self._last = (now_ms, self._random.getrandbits(79))
        else:
            self._last = (last_ms, entropy + 1 + self._random.getrandbits(48))
        return inquiry_id(*self._last)
