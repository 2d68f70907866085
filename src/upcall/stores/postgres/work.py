"""The requests to the writer, as values. They do not know how they are carried out."""

from collections.abc import Sequence
from dataclasses import dataclass

from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Happening, Job
from upcall.domain.roles import Token
from upcall.ports.store import Decide, Revise
from upcall.stores.postgres.staged_ledger import Prepared

Key = tuple[str, str, str, str]
"""Session, purpose, request key and agent."""


@dataclass(frozen=True, slots=True, eq=False)
class Adding:
    """Keep a new inquiry, or find the one that it asks for again."""

    inquiry: Inquiry
    body: str
    blobs: Sequence[bytes]
    effects: Prepared

    @property
    def key(self) -> Key | None:
        """The key by which a repeated request is recognised."""
        origin = self.inquiry.origin
        if origin.request_key is None:
            return None
        return origin.session, origin.purpose, origin.request_key, origin.agent


@dataclass(frozen=True, slots=True, eq=False)
class Updating:
    """Decide on an inquiry as it is."""

    name: str
    decide: Decide


@dataclass(frozen=True, slots=True, eq=False)
class UpdatingAll:
    """Decide on several inquiries as they are."""

    names: Sequence[str]
    decide: Decide


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Write an event about no inquiry."""

    happening: Happening


@dataclass(frozen=True, slots=True, eq=False)
class Revising:
    """Decide on a record as it is."""

    kind: str
    key: str
    decide: Revise


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Claiming:
    """Claim due jobs."""

    holder: str
    kinds: Sequence[str]
    runner: str
    now: float
    lease: float
    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Settling:
    """Settle a job that is still held."""

    job: Job
    effects: Prepared


@dataclass(frozen=True, slots=True, eq=False)
class Renewing:
    """Hold a job for longer."""

    holder: str
    job: Job
    until: float


@dataclass(frozen=True, slots=True, eq=False)
class Hastening:
    """Make jobs due no later than that."""

    kind: str
    subject: str
    due: float


@dataclass(frozen=True, slots=True, eq=False)
class Releasing:
    """End every lease of a dead daemon."""

    holder: str
    due: float


@dataclass(frozen=True, slots=True, eq=False)
class Issuing:
    """Keep a token."""

    token: Token


@dataclass(frozen=True, slots=True, eq=False)
class Revoking:
    """Forget a token."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Pruning:
    """Forget what is old."""

    before: float
    limit: int


Outright = Pruning | Hastening | Releasing | Claiming | Renewing | Settling
"""What the database does by itself before anything is decided; a group's members were all asked for at the same
time, so these may come first."""

Work = Adding | Updating | UpdatingAll | Recording | Revising | Issuing | Revoking | Outright
