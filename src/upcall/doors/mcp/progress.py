"""Signs of life for calls that wait: one timer beats for all of them.

Each call is beaten once per interval, counted from when it joined, so that ten thousand of them do not all
write at the same moment.
"""

import asyncio
import logging
from collections.abc import Callable

INTERVAL = 15.0
"""Seconds between two signs of life of one call: under every client's limit for silence that was measured."""

SLOTS = 15

Tick = Callable[[int], None]
"""Called with a number that grows with every beat. Must not block."""

log = logging.getLogger(__name__)


class Beat:
    """A wheel of slots, one of which is served at each turn of the single timer."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._turn = interval / SLOTS
        self._slots: list[dict[Tick, int]] = [{} for _ in range(SLOTS)]
        self._at = 0
        self._members = 0
        self._timer: asyncio.TimerHandle | None = None

    def join(self, tick: Tick) -> None:
        """Have `tick` called once per interval, until it leaves."""
        self._slots[self._at][tick] = 0
        self._members += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._turn, self._beat)

    def leave(self, tick: Tick) -> None:
        """Have it called no more, if it is. Looking for it costs less than each call's memory of its slot."""
        for slot in self._slots:
            if slot.pop(tick, None) is not None:
                self._members -= 1

    def _beat(self) -> None:
        self._timer = None
        if not self._members:
            # No call waits; the next one sets the timer again.
            return
        self._timer = asyncio.get_running_loop().call_later(self._turn, self._beat)
        self._at = (self._at + 1) % SLOTS
        slot = self._slots[self._at]
        for tick in list(slot):
            slot[tick] = count = slot[tick] + 1
            try:
                tick(count)
            except Exception:
                # One connection that cannot be written to must not silence the others.
                log.exception("a sign of life could not be sent")
