"""The MCP sessions that each token has open, at `/mcp` and at the older `/sse` together. It knows no transport."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from upcall.domain.errors import RateLimited
from upcall.domain.roles import Caller

MOST_SESSIONS = 500
"""Sessions that one token may have open."""

SESSION_IDLE = 12 * 3600.0
"""Seconds after which an unused session ends. An agent may work for hours between two questions."""


@dataclass(slots=True)
class _Open:
    """The sessions of one caller: those at `/mcp` with the time of their last use, and the requests that count as one."""

    secret: str = ""
    used: dict[str, float] = field(default_factory=dict)
    requests: set[object] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self.used) + len(self.requests)


class OpenSessions:
    """Counts sessions and refuses the ones beyond `most`."""

    def __init__(
        self,
        *,
        most: int = MOST_SESSIONS,
        idle: float = SESSION_IDLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = most
        self.idle = idle
        self._clock = clock
        self._callers: dict[Caller, _Open] = {}

    @contextmanager
    def request(self, caller: Caller) -> Iterator[Callable[[], None]]:
        """Count a request as a session while it runs: a stream of `/sse`, or a request that opens a session at `/mcp`.

        Yields a function that ends the count earlier.

        Raises:
            RateLimited: if the caller has too many sessions.
        """
        sessions = self._callers.setdefault(caller, _Open())
        if sessions.count >= self.most:
            raise RateLimited(
                f"this token has {self.most} MCP sessions open, and may have no more",
                hint="close one, use the modern protocol without sessions, or raise `caps.mcp_sessions`",
            )
        mark = object()
        sessions.requests.add(mark)
        try:
            yield lambda: sessions.requests.discard(mark)
        finally:
            sessions.requests.discard(mark)
            self._tidy(caller)

    def opened(self, caller: Caller, secret: str, session: str) -> None:
        """A session at `/mcp` was opened with the token `secret`."""
        sessions = self._callers.setdefault(caller, _Open())
        sessions.secret = secret
        sessions.used[session] = self._clock()

    def touch(self, caller: Caller, session: str) -> None:
        """A session was used."""
        if (sessions := self._callers.get(caller)) is not None and session in sessions.used:
            sessions.used[session] = self._clock()

    def closed(self, caller: Caller, session: str) -> bool:
        """Forget a session; whether it was the caller's."""
        sessions = self._callers.get(caller)
        known = sessions is not None and sessions.used.pop(session, None) is not None
        self._tidy(caller)
        return known

    def over(self, is_running: Callable[[str], bool]) -> Sequence[tuple[Caller, str]]:
        """The sessions at `/mcp` that do not run any more, or were not used for `idle` seconds."""
        oldest = self._clock() - self.idle
        return [
            (caller, session)
            for caller, sessions in self._callers.items()
            for session, used in sessions.used.items()
            if used < oldest or not is_running(session)
        ]

    def secrets(self) -> Sequence[tuple[Caller, str]]:
        """The token with which each caller opened its latest session."""
        return [(caller, sessions.secret) for caller, sessions in self._callers.items() if sessions.used]

    def of(self, caller: Caller) -> Sequence[str]:
        """The sessions of one caller at `/mcp`."""
        sessions = self._callers.get(caller)
        return () if sessions is None else tuple(sessions.used)

    def _tidy(self, caller: Caller) -> None:
        if (sessions := self._callers.get(caller)) is not None and not sessions.count:
            del self._callers[caller]
