"""Proof that an agent has its answer: it said something later on the same connection, or its pipe acknowledges it.

Writing an answer to a connection only *hands* it over; the process at the other end may be dead. The door that serves
the connection reports here which answers it handed over, and every later message.
"""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from itertools import chain, repeat

from upcall.domain.errors import StorageError, UpcallError
from upcall.domain.roles import Caller

REMEMBERED = 10_000
"""How many connections are watched; the ones that were quiet for longest are forgotten first."""

PER_CONNECTION = 100
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before each further attempt to record something in a store that is full or away; the last one from then on."""

EVIDENCE = "later message on the same connection"
ACKNOWLEDGED = "acknowledged"

_Answer = tuple[str, Caller, float]
_Given = tuple[str, int | None, str]
"""An agent, its run, and an inquiry: what one agent says that it has is no other agent's."""

Collect = Callable[[str, Caller, str], Awaitable[object]]

log = logging.getLogger(__name__)


class HandedAnswers:
    """Answers that were handed over, and for which there is no evidence yet."""

    def __init__(self, collect: Collect) -> None:
        self._collect = collect
        self._waiting: OrderedDict[Hashable, dict[Hashable, _Answer]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._given: OrderedDict[_Given, None] = OrderedDict()

    def handed(
        self,
        connection: Hashable,
        call: Hashable,
        inquiry: str,
        caller: Caller,
        *,
        good_for: float | None = None,
    ) -> None:
        """An answer was written to a connection as the reply to `call`.

        `good_for` is after how many silent seconds the name of the connection may mean another one.
        """
        self._give(inquiry, caller)
        until = math.inf if good_for is None else time.monotonic() + good_for
        waiting = self._waiting.setdefault(connection, {})
        waiting[call] = (inquiry, caller, until)
        self._waiting.move_to_end(connection)
        if len(waiting) > PER_CONNECTION:
            del waiting[next(iter(waiting))]
        while len(self._waiting) > REMEMBERED:
            self._waiting.popitem(last=False)

    def missed(self, connection: Hashable, call: Hashable) -> None:
        """The agent gave up on `call`, or sends it again: it does not have that answer."""
        waiting = self._waiting.get(connection)
        if waiting is None or (answer := waiting.pop(call, None)) is None:
            return
        self._given.pop(_given(answer[0], answer[1]), None)
        if not waiting:
            del self._waiting[connection]

    def has_given(self, caller: Caller, inquiry: str) -> bool:
        """Whether an answer went out to a caller and nothing says that it was missed."""
        return _given(inquiry, caller) in self._given

    def heard(self, connection: Hashable) -> None:
        """A later message arrived on a connection, which is evidence for the answers handed over before."""
        if not self._waiting:
            return
        waiting = self._waiting.pop(connection, None)
        now = time.monotonic()
        fresh = [(inquiry, caller) for inquiry, caller, until in (waiting or {}).values() if now < until]
        if fresh:
            _ = self._record_soon(fresh, EVIDENCE)

    def acknowledged(self, inquiry: str, caller: Caller, connection: Hashable = None) -> asyncio.Task[None]:
        """A pipe or a group says that its agent has the answer to an inquiry; what is returned ends when that is on record.

        A later message on the same `connection` is no further evidence, which would be recorded once more.

        It counts as given from now on: a call that follows on the connection is another question, although a daemon that was
        killed meanwhile handed the answer over, and the evidence is not recorded yet.
        """
        self._give(inquiry, caller)
        waiting = self._waiting.get(connection, {})
        for call in [call for call, answer in waiting.items() if answer[:2] == (inquiry, caller)]:
            del waiting[call]
            if not waiting:
                del self._waiting[connection]
        return self._record_soon([(inquiry, caller)], ACKNOWLEDGED)

    def gone(self, connection: Hashable) -> None:
        """The connection is closed: nothing more can be proved by it."""
        for inquiry, caller, _ in self._waiting.pop(connection, {}).values():
            self._given.pop(_given(inquiry, caller), None)

    def _give(self, inquiry: str, caller: Caller) -> None:
        self._given[_given(inquiry, caller)] = None
        while len(self._given) > REMEMBERED:
            self._given.popitem(last=False)

    async def settled(self) -> None:
        """Return when everything that was heard so far has been recorded."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def _record_soon(self, waiting: list[tuple[str, Caller]], evidence: str) -> asyncio.Task[None]:
        # In the background: the client waits for the reply to its message.
        task = asyncio.get_running_loop().create_task(self._record(waiting, evidence))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _record(self, waiting: list[tuple[str, Caller]], evidence: str) -> None:
        for inquiry, caller in waiting:
            for pause in chain(PAUSES, repeat(PAUSES[-1])):
                if await self._is_recorded(inquiry, caller, evidence):
                    break
                await asyncio.sleep(pause)

    async def _is_recorded(self, inquiry: str, caller: Caller, evidence: str) -> bool:
        """Record it; False if the store cannot at the moment: an agent does not say twice that it has its answer."""
        try:
            await self._collect(inquiry, caller, evidence)
        except StorageError as problem:
            log.warning("could not record yet that %s was collected: %s", inquiry, problem.message)
            return False
        except UpcallError as problem:
            log.warning("could not record that %s was collected: %s", inquiry, problem.message)
        except Exception:
            log.exception("could not record that %s was collected", inquiry)
        return True


def _given(inquiry: str, caller: Caller) -> _Given:
    return (caller.name, caller.run, inquiry)
