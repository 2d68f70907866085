"""The seams: what the broker needs of a store, and the values that cross over.

A store knows how to run a decision inside a transaction and how to wake whoever reads its log. It does not know
what an answer is, who may give one or when an inquiry ends: those rules are handed to it as functions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upcall.domain.inquiry import Change, Happening, Inquiry, Kind
from upcall.domain.roles import Token

Decide = Callable[[Inquiry], Change | None]
"""A pure rule; a store may run it more than once for one step."""


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
    """Which inquiries to list. Open ones come oldest first, everything else newest first."""

    state: str | None = None
    agent: str | None = None
    kind: Kind | None = None
    closed_since: float | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some inquiries and where the next ones begin."""

    items: tuple[Inquiry, ...]
    next: str | None


class Store(Protocol):
    """Keeps inquiries, their events and the tokens. Every method is one transaction.

    What `add`, `update`, `record` and the token methods returned survives a crash of the process, the machine
    and its power supply.
    """

    async def add(self, inquiry: Inquiry, blobs: Sequence[bytes] = ()) -> Added:
        """Keep a new inquiry under a ref of the store's choosing, or rejoin the one asked under the same key.

        `(session, purpose, request_key)` identifies a request of one agent, and `lifecycle.rejoins` decides whether
        the latest inquiry with that key stands for it. `blobs` are the attachments' bytes, in order.

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

    async def find(self, query: Query) -> Page:
        """A page of inquiries; listing open ones costs nothing for history."""
        ...

    async def update(self, name: str, decide: Decide) -> Updated:
        """Run `decide` on the inquiry as it is and apply the change it returns, in one atomic step.

        What `decide` raises is raised here, and nothing is changed.

        Raises:
            UnknownInquiry: if there is none of that id or ref.
            StorageError: if the change cannot be kept.
        """
        ...

    async def record(self, happening: Happening) -> Event:
        """Write an event that concerns no inquiry."""
        ...

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """The ids of open inquiries whose time has passed."""
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

    async def events(self, after: int, *, wait: float = 0, limit: int = 1000) -> Sequence[Event]:
        """The events with a higher number, in order and without gaps; none only after `wait` seconds."""
        ...

    async def last_seq(self) -> int:
        """The number of the latest event; 0 when there is none."""
        ...

    async def count_open(self) -> int:
        """How many inquiries are open."""
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
