"""Who calls a tool: one value from the door to the store.

A door builds it for a connection, and a conversation adds what a request says. The broker stores its `origin` as it is.
"""

from dataclasses import dataclass, replace
from typing import Self

from upcall.domain.inquiry.inquiry import Origin
from upcall.domain.roles import Caller
from upcall.domain.run.resume import is_named

PIPE = "mcp-pipe"
"""The door behind `upcall mcp`."""

SHORT_SLICE = 4.0
"""Seconds for a client that may be the OpenAI Agents SDK, which gives a call up after 5 unless it is told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The caller, the origin of what it asks, and how it waits.

    `client_id` tells one client from another where it does not name its session. `wait` is how many seconds the client said
    it can wait; None when it is unknown. A `hurried` one may be a client that gives up within seconds.
    """

    caller: Caller
    origin: Origin
    client_id: str = ""
    wait: float | None = None
    hurried: bool = False

    @classmethod
    def of(
        cls,
        caller: Caller,
        *,
        door: str,
        session: str | None = None,
        workspace: str | None = None,
        program: str = "",
        client: str = "",
        client_id: str = "",
        request_key: str | None = None,
        thread: str | None = None,
        runner: str = "",
        wait: float | None = None,
    ) -> Self:
        """The asker behind a caller's token. Without a session of its own it goes by the name of its agent.

        `runner` is the machine that can resume its session because it has the pipe.
        """
        origin = Origin(
            agent=caller.name,
            session=session or caller.name,
            door=door,
            workspace=workspace,
            thread=thread,
            run=caller.run,
            program=program,
            runner=caller.runner or runner,
            request_key=request_key,
            client=client,
        )
        return cls(caller=caller, origin=origin, client_id=client_id, wait=wait)

    @property
    def session(self) -> str | None:
        """The session that the client named."""
        return self.origin.session if is_named(self.origin) else None

    @property
    def scope(self) -> str:
        """Within what the same words are the same question; empty where nothing tells this client from another."""
        return self.session or self.client_id

    def patience(self, slice_seconds: float) -> float:
        """How many seconds it can wait; as many as a slice has where it did not say."""
        if self.wait is not None:
            return self.wait
        return min(slice_seconds, SHORT_SLICE) if self.hurried else slice_seconds

    def calling(
        self,
        *,
        session: str | None,
        program: str,
        client: str,
        request_key: str | None,
        thread: str | None,
        hurried: bool = False,
    ) -> Self:
        """The asker of one call on its connection."""
        origin = replace(
            self.origin,
            session=session or self.caller.name,
            program=program,
            client=client,
            request_key=request_key,
            thread=thread,
        )
        return replace(self, origin=origin, hurried=hurried)
