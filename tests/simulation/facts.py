"""What really happened in a simulated world, beside what the store says of it: the oracle compares the two."""

from collections import defaultdict
from dataclasses import dataclass, field

Values = tuple[tuple[str, ...], ...]


class Broken(Exception):
    """A promise was broken. `rule` says which, and is the same for the same defect."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What a person was told after a reply: whether it counts, and the answer that stands."""

    by: str
    accepted: bool
    values: Values | None


@dataclass(slots=True)
class Facts:
    """By inquiry: what people gave and were told, which processes have taken its answer in, and where it was shown."""

    given: dict[str, set[Values]] = field(default_factory=lambda: defaultdict(set))
    acknowledged: dict[str, list[Acknowledged]] = field(default_factory=lambda: defaultdict(list))
    told: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    """The process that the model had the answer in once it spoke, and the answer in words."""
    posted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    asked: dict[str, str] = field(default_factory=dict)
    """The inquiry of each question that an agent asked, by the agent's own name of it."""
    trace: list[str] = field(default_factory=list)

    def note(self, at: float, line: str) -> None:
        """Add a line to the trace that a person reads."""
        self.trace.append(f"{at:10.3f}  {line}")
