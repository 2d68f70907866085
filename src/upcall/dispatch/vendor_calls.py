"""Calls of one channel's vendor: bounded in time, not made during an outage, and counted for the channel's health."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from upcall.dispatch.health import SENDING, Health
from upcall.dispatch.outage import Outage
from upcall.domain.errors import StorageError
from upcall.ports.channel import Refused, Unavailable

T = TypeVar("T")

log = logging.getLogger("upcall.dispatch")


class VendorCalls:
    """Of one channel at one daemon."""

    def __init__(
        self,
        channel: str,
        clock: Callable[[], float],
        health: Health,
        *,
        seconds: float,
        pauses: Sequence[float],
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._health = health
        self._seconds = seconds
        self.outage = Outage(pauses)

    async def call(self, job: str, act: Callable[[], Awaitable[T]]) -> T:
        """Have the vendor do something for a job. During an outage it is not even asked.

        Raises:
            Refused: if the vendor will not do it, or the channel has a mistake.
            Unavailable: if it cannot be done now.
        """
        known = self.outage.problem(self._clock())
        if known is not None:
            raise known
        try:
            done = await self.bounded(act)
        except Refused:
            # The vendor is there and will not have this message: the channel works, and an operator wants to know.
            self._health.errors[SENDING] += 1
            raise
        except Unavailable as problem:
            if problem.after is None:
                self.outage.failed(job, problem, self._clock())
                await self._health.failed(SENDING, problem)
            raise
        self.outage.over()
        await self._health.works(SENDING)
        return done

    async def bounded(self, act: Callable[[], Awaitable[T]]) -> T:
        """Have something done within its time. A mistake of ours in one message stops no other. Raises as `call` does."""
        try:
            async with asyncio.timeout(self._seconds):
                return await act()
        except (Refused, Unavailable, StorageError):
            raise
        except TimeoutError as error:
            raise Unavailable(f"no reply within {self._seconds:g} seconds") from error
        except Exception as error:
            log.exception("the channel %s failed", self._channel)
            raise Refused(f"the channel failed: {type(error).__name__}") from error
