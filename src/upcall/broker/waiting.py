"""Calls that wait for an inquiry, woken by the log. A waiting call costs a future and a dictionary entry."""

import asyncio
import logging
from collections.abc import Callable

from upcall.domain.errors import StorageError
from upcall.domain.inquiry.asking_back import is_pending
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.following import Follower
from upcall.ports.store import Event, Store

log = logging.getLogger("upcall.waiting")

Awaited = Callable[[Inquiry], bool]
"""Whether a call that waits for an inquiry returns with it as it is."""


class Waiters:
    """Follows the store's log, and wakes the calls that wait for an inquiry which was settled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # By inquiry: each with what it waits for.
        self._waiting: dict[str, dict[asyncio.Future[Inquiry | None], Awaited]] = {}
        self._following = Follower(
            "following the log for those who wait", store, self._heed, log, gathering=0
        )
        self._closed = False

    async def start(self) -> None:
        """Begin to follow the log where it ends now."""
        await self._following.start()

    async def close(self) -> None:
        """Release every waiting call with the inquiry as it stands."""
        self._closed = True
        for waiting in self._waiting.values():
            for waiter in waiting:
                _release(waiter, None)
        await self._following.close()

    def __contains__(self, inquiry: object) -> bool:
        return bool(self._waiting.get(str(inquiry)))

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())

    def hears(self, inquiry: str) -> bool:
        """Whether a call that waits for an inquiry returns when a person asks back."""
        return any(over is is_heard for over in self._waiting.get(inquiry, {}).values())

    async def wait(
        self, inquiry: Inquiry, timeout: float | None, over: Awaited = lambda inquiry: not inquiry.is_open
    ) -> Inquiry:
        """The inquiry once it is settled, or as it stands after `timeout` seconds or at the end of it all.

        `over` tells when else there is nothing more to wait for.
        """
        if over(inquiry):
            return inquiry
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Inquiry | None] = loop.create_future()
        waiting = self._waiting.setdefault(inquiry.id, {})
        waiting[waiter] = over
        # A timer in the loop's own heap, and no task, for each waiter.
        timer = None if timeout is None else loop.call_later(max(timeout, 0), _release, waiter, None)
        try:
            # It may have been settled after it was read and before it was waited for.
            current = await self._store.get(inquiry.id)
            if over(current) or self._closed:
                return current
            return await waiter or await self._store.get(inquiry.id)
        except StorageError:
            # It is asked, and on people's screens: the call returns that it is open, not that asking has failed.
            log.exception("what became of %s cannot be read just now", inquiry.ref)
            return inquiry
        finally:
            if timer is not None:
                timer.cancel()
            waiting.pop(waiter, None)
            if not waiting:
                self._waiting.pop(inquiry.id, None)

    async def _heed(self, event: Event) -> None:
        if event.inquiry in self._waiting:
            await self._wake(event)

    async def _wake(self, event: Event) -> None:
        waiting = self._waiting.get(event.inquiry or "", {})
        try:
            inquiry = event.subject or await self._store.get(event.inquiry or "")
        except StorageError:
            raise
        # One that cannot be read keeps no other call waiting for ever.
        except Exception:
            log.exception(
                "what became of %s cannot be read; the calls that wait for it read it themselves",
                event.inquiry,
            )
            for waiter in waiting:
                _release(waiter, None)
            return
        for waiter, over in waiting.items():
            if over(inquiry):
                _release(waiter, inquiry)


def is_asked(inquiry: Inquiry) -> bool:
    """Whether it is the turn of an inquiry in its thread, or it is settled."""
    return not inquiry.is_open or not inquiry.is_queued


def is_heard(inquiry: Inquiry) -> bool:
    """Whether there is something to tell the asker: the end of an inquiry, or what a person has asked back."""
    return not inquiry.is_open or is_pending(inquiry)


def _release(waiter: asyncio.Future[Inquiry | None], inquiry: Inquiry | None) -> None:
    if not waiter.done():
        waiter.set_result(inquiry)
