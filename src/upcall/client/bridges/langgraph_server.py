"""Watches a LangGraph server: interrupts of its threads are put to a person, and each thread is resumed with the answers.

It speaks the server's HTTP API and needs no library. `upcall langgraph serve` runs it. Questions have the same keys as those of
`upcall.langgraph`, so a watcher that is started again finds its questions, and what was answered meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import anyio
import httpx2
from anyio.abc import TaskGroup

from upcall.client.bridges.interrupts import Fields, Undecided, answer
from upcall.client.bridges.langgraph_http import Server, interrupts_of
from upcall.client.bridges.putting import call_key, connected
from upcall.client.client import Client
from upcall.client.errors import RateLimited, RunFailed, StorageError, Unreachable
from upcall.client.request import Progress, Waiting
from upcall.domain.errors import UpcallError

REPLY_SECONDS = 60.0
EVERY = 2.0
"""Seconds between two looks: the server tells no one that a thread was interrupted."""

Tell = Callable[[str], None]
Wait = tuple[str, frozenset[str]]
"""A thread and the interrupts that it waits for."""


async def serve(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    every: float = EVERY,
    tell: Tell | None = None,
    client: Client | None = None,
    **waiting: Unpack[Waiting],
) -> None:
    """Watch the server without end. `tell` is given a line for each thread that is put to a person, resumed or given up.

    Raises:
        RunFailed: if the server cannot be reached at the start; later it is tried again.
    """
    async with (
        connected(client) as broker,
        httpx2.AsyncClient(base_url=url, headers=headers, timeout=REPLY_SECONDS) as http,
    ):
        server = Server(http)
        found = await server.interrupted()
        async with anyio.create_task_group() as tasks:
            says = tell or (lambda line: None)
            watcher = Watcher(server=server, broker=broker, waiting=waiting, tell=says, tasks=tasks)
            while True:
                watcher.look(found)
                await anyio.sleep(every)
                try:
                    found = await server.interrupted()
                except RunFailed as problem:
                    says(str(problem))


@dataclass(slots=True, kw_only=True)
class Watcher:
    """The threads that wait for a person, each with a task of its own."""

    server: Server
    broker: Client
    waiting: Waiting
    tell: Tell
    tasks: TaskGroup
    _scopes: dict[Wait, anyio.CancelScope] = field(default_factory=dict)
    _over: set[Wait] = field(default_factory=set)
    """What was resumed or given up, until the server does not show it any more."""

    def look(self, threads: Sequence[Fields]) -> None:
        """Put to a person what is new, and take back what was resumed elsewhere."""
        found = {_wait(each): each for each in threads}
        self._over &= found.keys()
        for wait, scope in self._scopes.items():
            if wait not in found:
                scope.cancel()
        for wait, thread in found.items():
            if wait not in self._scopes and wait not in self._over:
                self._scopes[wait] = anyio.CancelScope()
                self.tasks.start_soon(self._settle, wait, thread)

    async def _settle(self, wait: Wait, thread: Fields) -> None:
        """Have a thread's interrupts answered, and resume it."""
        asked: list[str] = []
        name = thread["thread_id"]
        with self._scopes[wait] as scope:
            try:
                answers = await self._answers(thread, asked)
                # It may have been resumed between two looks.
                waits = _wait(await self.server.thread(name)) == wait
                resumed = waits and await self.server.resume(thread, answers)
                if resumed:
                    self.tell(f"thread {name}: resumed")
                if resumed or not waits:
                    self._over.add(wait)
            except* Undecided:
                self.tell(f"thread {name}: no answer yet")
                self._over.add(wait)
            except* (RunFailed, Unreachable, RateLimited, StorageError) as problems:
                # The next look tries again.
                self.tell(f"thread {name}: {problems.exceptions[0]}")
            except* UpcallError as problems:
                self.tell(f"thread {name}: {problems.exceptions[0]}")
                self._over.add(wait)
        del self._scopes[wait]
        if scope.cancelled_caught:
            await self._take_back(name, asked)

    async def _take_back(self, name: str, asked: Sequence[str]) -> None:
        self.tell(f"thread {name}: went on elsewhere")
        for inquiry in asked:
            try:
                await self.broker.withdraw(inquiry, "the thread went on elsewhere")
            except UpcallError as problem:
                self.tell(f"thread {name}: {problem}")

    async def _answers(self, thread: Fields, asked: list[str]) -> dict[str, Any]:
        name, found = thread["thread_id"], dict[str, Any]()

        def note(progress: Progress) -> None:
            if progress.stage == "asked":
                asked.append(progress.inquiry["id"])
                self.tell(f"thread {name}: asked {progress.inquiry['ref']}")

        how: Waiting = {"session": name, **self.waiting, "progress": note}

        async def put(each: Fields) -> None:
            found[each["id"]] = await answer(
                self.broker, each["value"], call_key("langgraph", name, each["id"]), how
            )

        async with anyio.create_task_group() as tasks:
            for each in interrupts_of(thread):
                tasks.start_soon(put, each)
        return found


def _wait(thread: Fields) -> Wait:
    return thread["thread_id"], frozenset(each["id"] for each in interrupts_of(thread))
