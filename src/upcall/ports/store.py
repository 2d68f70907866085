"""The store protocol: what the broker needs of a store, and the values that cross over.

A store knows how to run a decision inside a transaction and how to wake the readers of its log. It does not know
what an answer is, who may give one or when an inquiry ends: those rules are handed to it as functions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Change, Inquiry, Kind, Origin
from upcall.domain.records import NOTHING, Effects, Happening, Job, Record
from upcall.domain.roles import Token

Decide = Callable[[Inquiry], Change | None]
"""A pure rule; a store may run it more than once for one step."""

Revise = Callable[[Record | None], Effects | None]
"""A pure rule about a record as it is, or about there being none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the log. `subject` is the inquiry right after it, where the store has it at hand."""

    seq: int
    type: str
    inquiry: str | None
    at: float
    data: Mapping[str, object]
    subject: Inquiry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The inquiry that now stands for a request: a new one, or the one that it rejoined."""

    inquiry: Inquiry
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """The inquiry after a step, and whether that step changed it."""

    inquiry: Inquiry
    applied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which inquiries to list. Open ones come oldest first, everything else newest first.

    `text` is searched for: every word of it begins a word of the inquiry (see `domain/searching`). What a search finds comes in
    the order in which it was asked: open ones oldest first, everything else newest first.
    """

    state: str | None = None
    agent: str | None = None
    kind: Kind | None = None
    workspace: str | None = None
    run: int | None = None
    text: str = ""
    closed_since: float | None = None
    limit: int = 50
    cursor: str | None = None

    @property
    def is_search(self) -> bool:
        """Whether it is answered from the index of words."""
        return bool(self.text.strip()) or self.workspace is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some inquiries and where the next ones begin.

    `complete` is False where a search may have missed some: the words of many inquiries are still to be indexed.
    """

    items: tuple[Inquiry, ...]
    next: str | None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Some records and where the next ones begin."""

    items: tuple[Record, ...]
    next: str | None


class Ledger(Protocol):
    """Keeps records, and the jobs that are still to be done. Every method is one transaction.

    What was written survives a crash of the process, the machine and its power supply.
    """

    def now(self) -> float:
        """The time by the clock of all daemons on this store; deadlines and leases are measured by it."""
        ...

    async def look_up(self, kind: str, key: str) -> Record | None:
        """One record."""
        ...

    async def records(
        self, kind: str, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Records:
        """A page of the records of a kind, the newest first.

        Raises:
            InvalidRequest: if the cursor or the limit is not one.
        """
        ...

    async def revise(self, kind: str, key: str, decide: Revise) -> Record | None:
        """Run `decide` on a record as it is and write its effects, in one atomic step; the record afterwards.

        What `decide` raises is raised here, and nothing is changed.
        """
        ...

    async def claim(
        self, kinds: Sequence[str], *, runner: str, now: float, lease: float, limit: int
    ) -> Sequence[Job]:
        """Take jobs that are due, the longest due first; no other daemon gets them for `lease` seconds."""
        ...

    async def settle(self, job: Job, effects: Effects = NOTHING) -> bool:
        """Be done with a claimed job and write something with that; False, and nothing, if it was lost meanwhile.

        A job among the effects may have its id: then it is to be done again.
        """
        ...

    async def renew(self, job: Job, until: float) -> bool:
        """Hold a claimed job for longer; False if it was lost meanwhile."""
        ...

    async def jobs(self, kind: str, subject: str) -> Sequence[Job]:
        """The jobs of a kind about a subject, the longest due first."""
        ...

    async def hasten(self, kind: str, subject: str, due: float) -> int:
        """Make the jobs of a kind about a subject due no later than that; how many there are."""
        ...

    async def next_due(self, kinds: Sequence[str], runner: str) -> float | None:
        """When there is the next job to claim."""
        ...

    async def count_jobs(self) -> Mapping[str, int]:
        """How many jobs there are of each kind, whether they are due, claimed or for later."""
        ...


class Store(Ledger, Protocol):
    """Keeps inquiries, their events and the tokens. Every method is one transaction.

    What `add`, `update`, `update_all`, `record` and the token methods returned survives a crash of the process, the machine
    and its power supply.
    """

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = (), effects: Effects = NOTHING) -> Added:
        """Keep a new inquiry under a ref of the store's choosing, or rejoin the one asked under the same key.

        `(session, purpose, request_key)` identifies a request of one agent, and `lifecycle.rejoins` decides whether
        the latest inquiry with that key stands for it. `blobs` are the attachments' bytes, in order; `effects` are
        written with a new inquiry.

        Raises:
            KeyConflict: if the key was used for something else.
            StorageError: if it cannot be kept; then nothing of it was.
        """
        ...

    async def get(self, name: str) -> Inquiry:
        """The inquiry with this id, or the open, otherwise the latest, one with this ref.

        Raises:
            UnknownInquiry: if there is none.
        """
        ...

    async def requested(self, origin: Origin) -> Inquiry | None:
        """The latest inquiry that was asked under the key of this request; None for a request without one."""
        ...

    async def find(self, query: Query) -> Page:
        """A page of inquiries; listing open ones costs nothing for history, and neither does the first page of a search.

        A search indexes the latest changes first, so that what was just asked or answered is found.
        """
        ...

    async def index_words(self, limit: int) -> int:
        """Index the words of at most `limit` inquiries that have changed since they were last indexed, the newest first.

        Returns their number.
        """
        ...

    async def update(self, name: str, decide: Decide) -> Updated:
        """Run `decide` on the inquiry as it is and apply the change it returns, in one atomic step.

        What `decide` raises is raised here, and nothing is changed.

        Raises:
            UnknownInquiry: if there is none of that id or ref.
            StorageError: if the change cannot be kept.
        """
        ...

    async def update_all(self, names: Sequence[str], decide: Decide) -> Sequence[Updated | UpcallError]:
        """Run `decide` on each inquiry as it is and apply all the changes it returns, in one atomic step.

        There is a result for each name, in order. What `decide` refuses, with an error of ours, and a name that nothing has,
        stand there as errors, and keep no other inquiry from being changed. An inquiry that is named twice is changed once.
        Anything else that `decide` raises is raised here, and nothing is changed.

        Raises:
            StorageError: if the changes cannot be kept; then none of them was.
        """
        ...

    async def record(self, happening: Happening) -> Event:
        """Write an event that concerns no inquiry."""
        ...

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """The ids of open inquiries past their deadline."""
        ...

    async def next_expiry(self) -> float | None:
        """When the next open inquiry expires."""
        ...

    async def attachment(self, name: str, index: int) -> bytes:
        """The bytes of an inquiry's attachment, counted from 0.

        Raises:
            UnknownInquiry: if there is no such inquiry or attachment.
        """
        ...

    async def events(
        self, after: int, *, wait: float = 0, limit: int = 1000, gather: float = 0
    ) -> Sequence[Event]:
        """The events with a higher number, in order and without gaps; none only after `wait` seconds.

        A reader that waits is woken by the next event, or `gather` seconds later with those that came meanwhile.

        If the first of them is not the next one, those in between have been pruned.
        """
        ...

    async def thread_items(
        self, thread: str, *, after: int = 0, before: int | None = None, limit: int = 200
    ) -> Sequence[Event]:
        """The items of a thread with a higher number, in order; with `before`, the last ones with a lower number."""
        ...

    async def last_seq(self, least: int = 0) -> int:
        """The number of the latest event; 0 when there is none.

        With `least`, a number that a reader has from elsewhere: what is less than that is certainly the end of the log.
        """
        ...

    async def count_open(self, awake_at: float | None = None) -> int:
        """How many inquiries are open; with a time, without those that are snoozed beyond it."""
        ...

    async def prune(self, before: float, limit: int) -> int:
        """Forget some inquiries that were closed before then, and events from the beginning of the log that are older.

        What channels have on record about an inquiry goes with it. The last event stays, and numbers are never given again.
        Returns the number removed, at most `limit` of each kind.
        """
        ...

    async def put_token(self, token: Token) -> None:
        """Keep a token, replacing the one of the same name."""
        ...

    async def drop_token(self, name: str) -> bool:
        """Forget a token; False when there is none of that name."""
        ...

    async def tokens(self) -> Sequence[Token]:
        """Every token, by name."""
        ...

    async def backup(self, path: str) -> None:
        """Write a consistent copy of everything to `path` while work goes on.

        Raises:
            StorageError: if the copy cannot be made, or the database has better tools for it, which are named; then
                there is no file left behind.
        """
        ...

    async def close(self) -> None:
        """Finish what was begun and let go. Readers waiting in `events` get what there is."""
        ...
