"""What happens to an answer at the moment at which it is given: who gets it, or what a person does to go on."""

from collections.abc import Container, Mapping

from upcall.access.connected import ConnectedSessions, session_name
from upcall.domain.errors import UnknownRun
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run.resume import is_named, needs_delivery
from upcall.runs.book import Book
from upcall.runs.forwarding import Forwarding

CALL, AGENT, RUN, RUNNER, GONE, KEPT = "call", "agent", "run", "runner", "gone", "kept"
"""A call that waits; an agent that is at work; a session that is brought back; another machine; an asker that is gone; and an
asker of which only its next call will tell."""

PIPE = "mcp-pipe"


class Fate:
    """Of the answers given at one daemon. `runner` is what its machine is called."""

    def __init__(self, forwarding: Forwarding, book: Book, held: ConnectedSessions, runner: str) -> None:
        self._forwarding = forwarding
        self._book = book
        self._held = held
        self._runner = runner

    async def of(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """Where the answer goes; `awaited` says that a call waited for it. None for what needs no delivery."""
        if not needs_delivery(inquiry):
            return None
        origin = inquiry.origin
        if awaited:
            return _told(CALL, origin.run)
        if origin.runner not in {"", self._runner}:
            return _told(RUNNER, origin.run)
        if origin.run is not None:
            return await self._of_run(origin.run)
        if self._is_there(inquiry):
            return _told(AGENT)
        state = await self._forwarding.state(inquiry) or {}
        if origin.program and origin.runner and is_named(origin):
            return _told(RUN, state.get("run"))
        if origin.door == PIPE:
            return _told(GONE, command=state.get("command"))
        return _told(KEPT, command=state.get("command"))

    async def _of_run(self, number: int) -> Mapping[str, object]:
        try:
            run = await self._book.get(number)
        except UnknownRun:
            return _told(GONE)
        if run.alive:
            return _told(AGENT, number)
        return _told(RUN if run.session else GONE, number)

    def _is_there(self, inquiry: Inquiry) -> bool:
        origin = inquiry.origin
        sessions: Container[str] = self._held
        return inquiry.id in self._held.asking or session_name(origin.program, origin.session) in sessions


def _told(to: str, run: object = None, *, command: object = None) -> Mapping[str, object]:
    return {"to": to, "run": run, "command": command}
