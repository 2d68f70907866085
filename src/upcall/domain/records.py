"""What is written beside an inquiry: events, records, and jobs that are still to be done.

A record is one thing with a name: a run, a rule, a person. A job is work that must get done once, by somebody, and is
there until it was. Neither knows what it is about; whoever keeps one reads its own body.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

TAKEN_OVER = "taken_over"
"""The event that jobs of a dead daemon are due again, for those who wait for jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """What an event says before a store has numbered it; one that is no step of its inquiry names it."""

    type: str
    at: float
    data: dict[str, object]
    inquiry: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing with a name. `state` is what lists choose by, and `at` what they are sorted by."""

    kind: str
    key: str
    state: str = ""
    at: float = 0.0
    body: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work about a `subject` that is to be done from `due` on; by any daemon, or only by the `runner` it names.

    Whoever claims a job gets a higher `fence`, and only the holder of the highest can settle it. A job put under the
    id of another takes its place, and whoever holds that one has lost it.
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
    """What else is written with a step, all of it or nothing.

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
