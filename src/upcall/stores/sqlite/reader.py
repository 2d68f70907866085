"""One thread that reads. Questions of one turn of the loop wake it once, and each result is released as soon as it is there.

It knows neither tables nor SQL. An executor does the same with three locks for each question.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from upcall.stores.results import Result, release

T = TypeVar("T")


class _Asked(NamedTuple):
    question: Callable[[], object]
    future: asyncio.Future[Any]


class Reader:
    """Its thread starts with the first question."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[list[_Asked] | None] = SimpleQueue()
        self._gathered: list[_Asked] = []
        self._thread: threading.Thread | None = None

    def submit(self, question: Callable[[], T]) -> asyncio.Future[T]:
        """Ask it in the thread; what is cancelled before its turn is not asked."""
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(_Asked(question, future))
        return future

    async def stop(self, last: Callable[[], None]) -> None:
        """Answer what was asked, then `last`, and end the thread."""
        done = self.submit(last)
        self._hand_over()
        self._queue.put(None)
        await asyncio.shield(done)

    def _hand_over(self) -> None:
        if not self._gathered:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        gathered, self._gathered = self._gathered, []
        self._queue.put(gathered)

    def _run(self) -> None:
        while (asked := self._queue.get()) is not None:
            for each in asked:
                if not each.future.cancelled():
                    # A closed loop has no callers left.
                    with suppress(RuntimeError):
                        self._loop.call_soon_threadsafe(release, [_answered(each)])


def _answered(asked: _Asked) -> Result:
    try:
        return Result(asked.future, asked.question(), None)
    # Any exception belongs to its caller; this thread has to go on.
    except BaseException as error:  # noqa: BLE001
        return Result(asked.future, None, error)
