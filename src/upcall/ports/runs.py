"""The seam to supervised runs: what the API, the pages and the commands ask of them, and the values that they get."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller
from upcall.domain.run.program import Command
from upcall.domain.run.run import Order, Run

LONGEST_KEY = 200
"""The most characters of a request key."""


class Begun(NamedTuple):
    """A run, and whether this request has started it: a request that is sent again has not."""

    run: Run
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Some runs and where the next ones begin."""

    items: tuple[Run, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One thing that happened, and how far into the output that was."""

    at: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some of a run's log; `over` says that nothing comes after `next_after`."""

    lines: tuple[LogLine, ...]
    next_after: int
    over: bool


class Runs(Protocol):
    """The supervised runs of one daemon. Every method raises `UnknownRun` for a number that no run has."""

    async def begin(self, order: Order, by: Caller) -> Begun:
        """Start a run, as soon as the limit of runs permits.

        Raises:
            NotAllowed: if the caller is an agent.
            InvalidRequest: if there is no task, or no such folder.
            UpcallError: if the agent is not known, not installed, or not in a version that works.
        """
        ...

    async def get(self, number: int) -> Run:
        """A run as it is at this moment."""
        ...

    async def find(self, *, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        """A page of runs, the newest first."""
        ...

    async def cancel(self, number: int, by: Caller) -> Run:
        """End a run, its process tree and its questions.

        Raises:
            RunConflict: if it is over.
        """
        ...

    async def retry(self, number: int, by: Caller, key: str = "") -> Run:
        """Try a run again: with the answer that it did not get, or that its session was told; else as a new run.

        A second request of the same person with the same key starts no second one.

        Raises:
            RunConflict: if it is not over.
        """
        ...

    async def say(self, number: int, text: str, by: Caller, key: str = "") -> str:
        """Tell a run something: at once (`live`), when its turn is over (`queued`), or by resuming it (`resumed`).

        A second request of the same person with the same key tells it nothing (`repeated`).

        Raises:
            InvalidRequest: if the text is empty.
            RunConflict: if the run is being ended, or has no session to resume.
        """
        ...

    async def log(self, number: int, after: int, wait: float = 0, *, raw: bool = False) -> LogPage:
        """What a run has written after a place in its output; waits at most `wait` seconds for the first line."""
        ...

    async def tail(self, number: int) -> LogPage:
        """The end of what a run has written, and where to read on."""
        ...

    async def attach(self, number: int) -> Command:
        """The command with which a person takes over a run's session in a terminal.

        Raises:
            RunConflict: while a process of the run is alive, or when the program never told its session.
        """
        ...

    async def resume_state(self, inquiry: str) -> Mapping[str, object] | None:
        """How far the delivery of an answer by resuming is; None for an answer that needs no resume."""
        ...

    async def recipient(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """Who gets an answer that was given just now; `awaited` says that a call waited for it."""
        ...
