"""Waiting for a question to be settled, through restarts of the daemon."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import anyio

from upcall.client.connection import PASSING, Connection, inquiry_path
from upcall.client.errors import Refused, Unreachable
from upcall.client.outcome import Inquiry
from upcall.client.request import Progress

SLICE = 30.0
"""Seconds of one request that waits."""

PAUSE, LONGEST_PAUSE = 0.2, 5.0
GRACE = timedelta(minutes=10)
"""How long after its end a question is still looked for, while no daemon can be reached: clocks differ."""


@dataclass(slots=True, kw_only=True)
class Wait:
    """One call that waits; `timeout` None waits until the question is settled."""

    daemon: Connection
    timeout: float | None = None
    progress: Callable[[Progress], Awaitable[None] | None] | None = None
    _began: float = 0.0

    async def until_settled(self, inquiry: Inquiry) -> Inquiry:
        """The inquiry once it is settled, or as it stands when the timeout has passed or Upcall was put down.

        Raises:
            Unreachable: if no daemon is found until long after the question's end.
        """
        self._began = anyio.current_time()
        await self._tell("asked", inquiry)
        pause = PAUSE
        while inquiry["state"] == "open" and not self.daemon.put_down():
            left = min(self._left(), SLICE)
            if left <= 0:
                break
            began = anyio.current_time()
            stage: Literal["waiting", "reconnecting"] = "waiting"
            try:
                inquiry = await self._slice(inquiry, left)
                if inquiry["state"] != "open" or anyio.current_time() - began >= left - 1:
                    pause = PAUSE
                    await self._tell_while_open(stage, inquiry)
                    continue
            except (Unreachable, Refused) as problem:
                if isinstance(problem, Refused) and problem.status not in PASSING:
                    raise
                if _is_over(inquiry):
                    raise
                stage = "reconnecting"
            # The daemon is stopping or gone; the next request finds it again.
            await self._tell_while_open(stage, inquiry)
            await anyio.sleep(max(min(pause, self._left()), 0))
            pause = min(pause * 2, LONGEST_PAUSE)
        return inquiry

    async def _slice(self, inquiry: Inquiry, seconds: float) -> Inquiry:
        path = inquiry_path(inquiry["id"], "wait")
        found: Inquiry = await self.daemon.call(
            "GET", f"{path}?timeout={seconds:.3f}", patience=seconds, persistent=False
        )
        return found

    def _left(self) -> float:
        passed = anyio.current_time() - self._began
        return SLICE if self.timeout is None else self.timeout - passed

    async def _tell_while_open(self, stage: Literal["waiting", "reconnecting"], inquiry: Inquiry) -> None:
        if inquiry["state"] == "open":
            await self._tell(stage, inquiry)

    async def _tell(self, stage: Literal["asked", "waiting", "reconnecting"], inquiry: Inquiry) -> None:
        if self.progress is None:
            return
        told = self.progress(
            Progress(stage=stage, inquiry=inquiry, waited=anyio.current_time() - self._began)
        )
        if inspect.isawaitable(told):
            await told


def _is_over(inquiry: Inquiry) -> bool:
    return datetime.now(UTC) > datetime.fromisoformat(inquiry["expires_at"]) + GRACE
