"""An event loop on a virtual clock: nothing sleeps, nothing runs in a thread, and every callback belongs to a process that can be killed.

A process here is a name that a context carries. Once it is killed, none of its callbacks runs any more, `finally` blocks included,
as with `kill -9`. While it is halted its callbacks are kept, and run when it goes on.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")


class Process:
    """What dies as a whole: a daemon, or an agent."""

    __slots__ = ("alive", "halted", "kept", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.halted = False
        self.kept: list[_Callback] = []

    def kill(self) -> None:
        """End it between two of its steps; nothing of it is tidied up."""
        self.alive = False
        self.kept.clear()


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class _Callback(asyncio.TimerHandle):
    __slots__ = ("act", "given", "within")

    def __init__(
        self,
        when: float,
        act: Callable[..., object],
        given: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        within: Context,
    ) -> None:
        super().__init__(when, act, given, loop, within)
        self.act, self.given, self.within = act, given, within


class Stuck(Exception):
    """There is nothing left to do, and what was waited for has not happened."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order of asyncio; when none is left, its clock goes on to the next timer."""

    def __init__(self) -> None:
        self.steps = 0
        self.problems: list[dict[str, Any]] = []
        self.before_step: Callable[[], object] = lambda: None
        self._now = 0.0
        self._ready: deque[_Callback] = deque()
        self._timers: list[tuple[float, int, _Callback]] = []
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    # What tasks, futures and asyncio's own parts call.

    @override
    def time(self) -> float:
        return self._now

    @override
    def get_debug(self) -> bool:
        return False

    @override
    def is_running(self) -> bool:
        return not self._closed

    @override
    def is_closed(self) -> bool:
        return self._closed

    @override
    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    @override
    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> Any:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        # Also those of the dead: collected as garbage, they would tidy up after all.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @override
    def call_soon(  # type: ignore[override] # what is called, and with what, is of no interest here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        made = _Callback(self._now, callback, args, self, copy_context() if context is None else context)
        self._ready.append(made)
        return made

    @override
    def call_later(  # type: ignore[override] # what is called, and with what, is of no interest here
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    @override
    def call_at(  # type: ignore[override] # what is called, and with what, is of no interest here
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        made = _Callback(when, callback, args, self, copy_context() if context is None else context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, made))
        return made

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Asyncio says so; a cancelled timer is passed over when its time comes."""

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._closed:
            self.problems.append(context)

    @override
    def run_in_executor(  # type: ignore[override] # as above
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """What would run in a thread runs now, as one step."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as problem:  # noqa: BLE001 - it belongs to the caller, whatever it is
            done.set_exception(problem)
        return done

    @override
    async def shutdown_asyncgens(self) -> None:
        """They end with their tasks."""

    # What a simulation calls.

    def begin(self, process: Process, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Have a process do something."""
        context = copy_context()
        context.run(PROCESS.set, process)
        task: asyncio.Task[T] = self.create_task(work, context=context)
        return task

    def let(self, process: Process | None, work: Coroutine[Any, Any, None]) -> None:
        """Have a process, or what outlives all of them, do something that no caller waits for."""
        context = Context()
        context.run(PROCESS.set, process)
        self.create_task(work, context=context)

    def go_on(self, process: Process) -> None:
        """Let a process that was halted run what it has missed."""
        process.halted = False
        self._ready.extend(process.kept)
        process.kept.clear()

    def run(self, work: Awaitable[T], *, most: int) -> T:
        """Run until that is done.

        Raises:
            Stuck: if it cannot be, or not within so many steps.
        """
        asyncio._set_running_loop(self)
        try:
            done = asyncio.ensure_future(work, loop=self)
            limit = self.steps + most
            while not done.done():
                if self.steps > limit or not self._step():
                    raise Stuck(f"after {self.steps} steps, at {self._now:.3f} s")
            return done.result()
        finally:
            asyncio._set_running_loop(None)

    @override
    def close(self) -> None:
        """Forget everything that is still under way."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        for task in list(self._tasks):
            coroutine = task.get_coro()
            # One that awaits something while it is being closed says so, and is closed.
            with suppress(RuntimeError):
                coroutine.close()
        self._tasks.clear()

    def _step(self) -> bool:
        ready = self._ready
        if not ready:
            timers = self._timers
            while timers and timers[0][2].cancelled():
                heapq.heappop(timers)
            if not timers:
                return False
            self._now = max(self._now, timers[0][0])
            while timers and timers[0][0] <= self._now:
                ready.append(heapq.heappop(timers)[2])
        callback = ready.popleft()
        if callback.cancelled():
            return True
        self.before_step()
        process = callback.within.get(PROCESS)
        if process is not None:
            if not process.alive:
                return True
            if process.halted:
                process.kept.append(callback)
                return True
        self.steps += 1
        try:
            callback.within.run(callback.act, *callback.given)
        except Exception as problem:  # noqa: BLE001 - a callback that fails is reported as asyncio does it
            self.call_exception_handler({"message": f"a callback failed: {problem!r}", "exception": problem})
        return True
