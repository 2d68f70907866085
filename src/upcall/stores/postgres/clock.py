"""The database server's clock, which every daemon on the store uses: their own clocks may differ.

The server is asked now and then; in between, the time that has passed on this machine is added, so a read costs nothing.
Setting the clock of this machine changes nothing.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, LiteralString

NOTABLE = 2.0
"""Seconds by which a machine's clock has to be wrong before it is worth a line in the log."""
Ask = Callable[[LiteralString], Awaitable[Sequence[Sequence[Any]]]]
"""Fetches the rows that a statement finds."""
_LOOK: LiteralString = "SELECT extract(epoch FROM clock_timestamp())::float8"

log = logging.getLogger("upcall.postgres")


class DatabaseClock:
    """Tells the database's time once it has been `set`."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._ahead = time.time() - steady()

    def now(self) -> float:
        """The time there."""
        return self._steady() + self._ahead

    async def set(self, ask: Ask) -> None:
        """Read the database's clock."""
        before = self._steady()
        ((told,),) = await ask(_LOOK)
        self.learn(told, before, self._steady())

    def learn(self, told: float, before: float, after: float) -> None:
        """Correct by a reading that was taken between two moments of this machine; only by as much as is certain."""
        self._ahead = min(max(self._ahead, told - after), told - before)

    def warn(self) -> None:
        """Log a warning if this machine's own clock differs."""
        late = self.now() - time.time()
        if abs(late) >= NOTABLE:
            log.warning(
                "the clock of this machine is %.0f seconds %s the database's, which counts",
                abs(late),
                "behind" if late > 0 else "ahead of",
            )
