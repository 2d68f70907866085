"""Calls that wait for an inquiry, woken by the log. A waiting call costs a future and a dictionary entry."""

import asyncio
import logging

from upcall.domain.errors import StorageError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.ports.following import Follower
from upcall.ports.store import Event, Store

log = logging.getLogger("upcall.waiting")


class Waiters:
    """Follows the store's log, and wakes the calls that wait for an inquiry which was settled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # By inquiry: each with whether it only waits for the inquiry's turn.
        self._waiting: dict[str, dict[asyncio.Future[Inquiry | None], bool]] = {}
        self._following = Follower("following the log for those who wait", store, self._heed, log)
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

    async def wait(self, inquiry: Inquiry, timeout: float | None, *, in_line: bool = False) -> Inquiry:
        """The inquiry once it is settled, or as it stands after `timeout` seconds or at the end of it all.

        With `in_line`, no longer than until it is its turn in its thread.
        """
        if _is_over(inquiry, in_line=in_line):
            return inquiry
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Inquiry | None] = loop.create_future()
        waiting = self._waiting.setdefault(inquiry.id, {})
        waiting[waiter] = in_line
        # A timer in the loop's own heap, and no task, for each waiter.
        timer = None if timeout is None else loop.call_later(max(timeout, 0), _release, waiter, None)
        try:
            # It may have been settled after it was read and before it was waited for.
            current = await self._store.get(inquiry.id)
            if _is_over(current, in_line=in_line) or self._closed:
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
        for waiter, in_line in waiting.items():
            if _is_over(inquiry, in_line=in_line):
                _release(waiter, inquiry)


def _is_over(inquiry: Inquiry, *, in_line: bool) -> bool:
    return not inquiry.is_open or (in_line and not inquiry.is_queued)


def _release(waiter: asyncio.Future[Inquiry | None], inquiry: Inquiry | None) -> None:
    if not waiter.done():
        waiter.set_result(inquiry)
