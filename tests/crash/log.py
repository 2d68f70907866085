"""Follows the event log of an installation from daemon to daemon, and tells scenarios what has happened."""

import time
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

from upcall.cli.client import inquiry_path

Json = dict[str, Any]
Ask = Callable[[str], Any]
"""Sends a GET until a daemon has replied."""

PATIENCE = 150.0
"""Seconds after which something that has not happened counts as stuck; a busy machine is slow."""

HOLD = 3
"""Seconds for which a daemon may hold back its reply; after that, it is the turn of another daemon."""


class StuckError(Exception):
    """Something never happened."""


class Log:
    """What has happened so far, in the order of the log."""

    def __init__(self, ask: Ask) -> None:
        self.events: list[Json] = []
        self.names: dict[str, str] = {}
        """The question of each inquiry."""
        self.problem: Exception | None = None
        self._ask = ask
        self._changed = Condition()
        self._is_over = False
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Follow no more."""
        self._is_over = True
        self._thread.join()

    def until(
        self, true: Callable[[], bool], otherwise: str, hopeless: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until something is true that the log tells; False if it is hopeless.

        Raises:
            StuckError: if it never becomes true.
        """
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not true():
                if self.problem is not None:
                    raise self.problem
                if hopeless():
                    return False
                if time.monotonic() > deadline:
                    raise StuckError(otherwise)
                self._changed.wait(0.1)
        return True

    def inquiry_of(self, name: str) -> str | None:
        """The inquiry that asks a question."""
        return next((inquiry for inquiry, question in self.names.items() if question == name), None)

    def has(self, inquiry: str, kind: str) -> bool:
        """Whether something has happened to an inquiry."""
        return any(event["inquiry"] == inquiry and event["type"] == kind for event in self.events)

    def read(self) -> list[Json]:
        """The whole log from its beginning, as far as it was followed at least: a daemon may be behind another one."""
        found: list[Json] = []
        known = self.events[-1]["seq"] if self.events else 0
        while not found or found[-1]["seq"] < known:
            found += self._ask(f"/v1/events?after={found[-1]['seq'] if found else 0}&limit=1000&wait={HOLD}")[
                "items"
            ]
        return found

    def _follow(self) -> None:
        after = 0
        while not self._is_over:
            try:
                page = self._ask(f"/v1/events?after={after}&limit=1000&wait={HOLD}")
                names = {
                    event["inquiry"]: self._ask(inquiry_path(event["inquiry"]))["questions"][0]["question"]
                    for event in page["items"]
                    if event["type"] == "asked"
                }
            except Exception as problem:  # noqa: BLE001 - raised in the thread of each scenario that waits for the log
                self.problem = problem
                return
            after = page["next_after"]
            with self._changed:
                self.events += page["items"]
                self.names |= names
                self._changed.notify_all()
