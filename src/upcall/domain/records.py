"""The values that are written beside an inquiry: events, records and jobs.

A record is one named value: a run, a rule, a person. A job is work that one daemon has to do once; it stays until it is
done. The store does not interpret a body; the component that writes it reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

TAKEN_OVER = "taken_over"
"""The event that the jobs of a dead daemon are due again; it wakes the workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """An event before the store has numbered it; `inquiry` is set where the event is not a step of an inquiry."""

    type: str
    at: float
    data: dict[str, object]
    inquiry: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One named value. Lists filter by `state` and sort by `at`."""

    kind: str
    key: str
    state: str = ""
    at: float = 0.0
    body: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work about a `subject` that is to be done from `due` on; by any daemon, or only by the `runner` it names.

    Each claim gets a higher `fence`, and only the holder of the highest can settle the job. A job put under the id of
    another replaces it, and the holder of the replaced one has lost its claim.
    """

    id: str
    kind: str
    subject: str
    due: float
    runner: str = ""
    attempts: int = 0
    fence: int = 0
    body: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Everything else that is written with a step, in the same transaction.

    `forgotten` are records by kind and key, `dropped` are jobs by id; both may be gone already.
    """

    records: tuple[Record, ...] = ()
    forgotten: tuple[tuple[str, str], ...] = ()
    happenings: tuple[Happening, ...] = ()
    jobs: tuple[Job, ...] = ()
    dropped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.forgotten or self.happenings or self.jobs or self.dropped)

    def __add__(self, other: "Effects") -> "Effects":
        return Effects(
            records=self.records + other.records,
            forgotten=self.forgotten + other.forgotten,
            happenings=self.happenings + other.happenings,
            jobs=self.jobs + other.jobs,
            dropped=self.dropped + other.dropped,
        )


NOTHING = Effects()
