"""The queue of a thread: one prompt at a time is put to people, the others follow in the order of asking.

A thread advances in two steps, and a process may end between them: the thread gives its turn to an inquiry, and the inquiry
is put to people. Each step is taken once, by any daemon on the store, and taking it again changes nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from upcall.domain.errors import NoApprovalNeeded, StorageError, UnknownInquiry, UnknownThread
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Inquiry, Kind, Origin
from upcall.domain.thread import prompts, thread
from upcall.domain.thread.thread import QUEUE, THREAD, Thread, ThreadRules, thread_in
from upcall.ports.background import Background
from upcall.ports.paging import each_record
from upcall.ports.store import Decide, Store, Updated

LOOK_EVERY = 5.0
"""Seconds between two looks for a turn that was given but not called up, or that an answer without evidence holds."""

Update = Callable[[str, Decide], Awaitable[Updated]]
"""Takes a step of an inquiry, with everything that follows from it."""

log = logging.getLogger("upcall.turns")


class ThreadQueue:
    """Of all threads in a store. `expect` is told the deadline of each inquiry that gets its turn."""

    def __init__(
        self,
        store: Store,
        update: Update,
        clock: Callable[[], float],
        expect: Callable[[float], None],
        *,
        rules: ThreadRules,
        permission: Callable[[str], str],
    ) -> None:
        self._store = store
        self._update = update
        self._clock = clock
        self._expect = expect
        self._rules = rules
        self._permission = permission
        self._advancing = Background("advancing the queues of threads", self._turn, log)

    async def start(self) -> None:
        """Call up what was left waiting, now and from time to time."""
        await self.advance_all()
        self._advancing.start()

    async def close(self) -> None:
        """Stop looking."""
        await self._advancing.close()

    async def enter(self, origin: Origin, kind: Kind) -> None:
        """Let a question into its thread, which begins with it if need be.

        Raises:
            UnknownThread: if it is another agent's.
            QuestionNotAlone: if other tool calls are under way, where that is not allowed.
            NoApprovalNeeded: if the agent may act without asking there.
        """
        name = thread.check_name(origin.thread or "")
        given = Thread(id=name, agent=origin.agent, created_at=self._clock(), session=origin.session)
        record = await self._store.look_up(THREAD, name)
        if record is None:
            record = await self._store.revise(THREAD, name, partial(thread.begin, thread=given))
        known = given if record is None else thread_in(record)
        if known.agent != origin.agent:
            raise UnknownThread(name)
        if self._rules.standalone:
            thread.check_alone(known, origin.request_key)
        if kind is Kind.APPROVAL and self.permission_in(known) == "autonomous":
            raise NoApprovalNeeded(name)

    def permission_in(self, known: Thread) -> str:
        """What the agent may do without asking: the thread says, or else the agent's setting, or else the default."""
        return known.permissions or self._permission(known.agent)

    def setting_of(self, agent: str) -> str:
        """What an agent may do in threads that say nothing about that."""
        return self._permission(agent)

    async def own_permissions(self, name: str, agent: str) -> str:
        """What a thread of an agent itself says about that; empty where it says nothing, or is another agent's."""
        record = await self._store.look_up(THREAD, name)
        return "" if record is None or record.state != agent else thread_in(record).permissions

    async def advance(self, name: str) -> None:
        """Give the turn to the next one in line, if it is free."""
        while True:
            record = await self._store.look_up(THREAD, name)
            if record is None:
                return
            active = thread_in(record).active
            first = await self._first_in_line(name)
            if active and not await self._is_over(active, waited_for=first is not None):
                return
            if first is None:
                return
            call_up = partial(thread.call_up, inquiry=first, resolved=active)
            record = await self._store.revise(THREAD, name, call_up)
            if record is not None and thread_in(record).active == first and not await self._is_over(first):
                return

    async def go_on(self, name: str) -> None:
        """Advance after a step that is kept already: if that fails, it is made up for with the next look."""
        try:
            await self.advance(name)
        except StorageError as error:
            log.warning("cannot call up who is next in %s: %s", name, error.message)
        except Exception:
            log.exception("cannot call up who is next in %s", name)

    async def advance_all(self) -> None:
        """Call up the next inquiry of every thread that has one in its queue."""
        for name in {record.state async for record in each_record(self._store, QUEUE)}:
            await self._advance_alone(name)

    async def _advance_alone(self, name: str) -> None:
        """A thread that cannot be read holds up no other."""
        try:
            await self.advance(name)
        except StorageError:
            raise
        except Exception:
            log.exception("cannot call up who is next in the thread %s", name)

    async def _is_over(self, name: str, *, waited_for: bool = False) -> bool:
        """Whether the one that has the turn is resolved; if it was never called up, it is now.

        Where others wait for it, an answer without evidence is released after a while.
        """
        try:
            inquiry = await self._store.get(name)
        except UnknownInquiry:
            return True
        if inquiry.is_queued:
            inquiry = await self._call_up(name)
        if waited_for and not prompts.is_resolved(inquiry):
            release = partial(lifecycle.release, now=self._clock())
            inquiry = (await self._update(name, release)).inquiry
        return prompts.is_resolved(inquiry)

    async def _call_up(self, name: str) -> Inquiry:
        updated = await self._update(name, partial(lifecycle.activate, now=self._clock()))
        if updated.inquiry.is_open:
            self._expect(updated.inquiry.expires_at)
        return updated.inquiry

    async def _first_in_line(self, name: str) -> str | None:
        """Who was asked first; ids are in that order."""
        return min([record.key async for record in each_record(self._store, QUEUE, name)], default=None)

    async def _turn(self) -> None:
        await asyncio.sleep(LOOK_EVERY)
        await self.advance_all()
