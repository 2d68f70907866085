"""Forms and links that stand in front of people at clients of the handshake era; one is closed when its question is settled elsewhere.

A form outlives the call that showed it: where a call is parked, the person goes on writing, and what they send is the answer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.elicitation import Elicitation, Shows
from upcall.doors.mcp.fields import Message
from upcall.ports.store import Store

MOST_TRIES = 5
"""How often a person is shown a form again that does not fit."""

CLOSED_WITHIN = 2.0
"""Seconds that a call whose question is settled waits for its form to be closed."""

LOG_WAIT = 30.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a client shows to its person: `ask` sends `elicitation/create` and returns the response, `done` ends a link.

    Cancelling `ask` closes the form.
    """

    ask: Callable[[Message], Awaitable[object]]
    done: Callable[[str], Awaitable[None]]


class OpenForms:
    """One for each inquiry and connection."""

    def __init__(self, store: Store, elicitation: Elicitation) -> None:
        self._store = store
        self._elicitation = elicitation
        self._open: dict[tuple[Hashable, str], asyncio.Task[None]] = {}

    def show(
        self, connection: Hashable, inquiry: Inquiry, asker: Asker, shows: Shows, screen: Screen
    ) -> None:
        """Put a question to the person at a client, unless it stands there already."""
        key = (connection, inquiry.id)
        if not shows or key in self._open or not inquiry.is_open:
            return
        task = asyncio.get_running_loop().create_task(self._put(inquiry, asker, shows, screen))
        self._open[key] = task
        task.add_done_callback(lambda _: self._open.pop(key, None))

    async def closed(self, connection: Hashable, inquiry: object) -> None:
        """Return when the form of a question that is settled has been closed: afterwards the client may not be reached."""
        task = self._open.get((connection, str(inquiry)))
        if task is not None:
            await asyncio.wait({task}, timeout=CLOSED_WITHIN)

    def gone(self, connection: Hashable) -> None:
        """A client is gone, and with it what it showed."""
        for (where, _), task in list(self._open.items()):
            if where == connection:
                task.cancel()

    async def _put(self, inquiry: Inquiry, asker: Asker, shows: Shows, screen: Screen) -> None:
        after = await self._store.last_seq()
        inquiry = await self._store.get(inquiry.id)
        asking = asyncio.ensure_future(self._asked(inquiry, asker, shows, screen))
        settled = asyncio.ensure_future(self._settled(inquiry, after))
        try:
            await asyncio.wait({asking, settled}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and asking.exception() is None and (link := asking.result()):
                await settled
                await screen.done(link)
        finally:
            for each in (asking, settled):
                each.cancel()
            problems = await asyncio.gather(asking, settled, return_exceptions=True)
            for problem in problems:
                if isinstance(problem, Exception):
                    log.debug("a form could not be shown", exc_info=problem)

    async def _asked(self, inquiry: Inquiry, asker: Asker, shows: Shows, screen: Screen) -> str:
        """Show it until it fits; returns the name of a link that was opened."""
        problem = ""
        for _ in range(MOST_TRIES):
            asked = await self._elicitation.request(inquiry, shows, problem)
            if asked is None:
                return ""
            if asked.get("mode") == "url":
                await screen.ask({**asked, "elicitationId": inquiry.id})
                return inquiry.id
            problem = await self._elicitation.take(inquiry.id, asker, shows, await screen.ask(asked))
            if not problem:
                return ""
        return ""

    async def _settled(self, inquiry: Inquiry, after: int) -> None:
        while inquiry.is_open:
            events = await self._store.events(after, wait=LOG_WAIT)
            if any(event.inquiry == inquiry.id for event in events):
                inquiry = await self._store.get(inquiry.id)
            after = events[-1].seq if events else after
