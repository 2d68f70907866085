"""Counters and histograms with labels, and the families of samples that a scrape consists of. It knows no format."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Labels = tuple[str, ...]
"""The values of the labels, in the order of their names."""


class Sample(NamedTuple):
    """One number; the suffix is what its name has more than the name of its family."""

    suffix: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The samples of one name. That of a counter goes without `_total`, which its samples have."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    samples: Sequence[Sample]


class Counter:
    """Only ever grows, by one for each event."""

    def __init__(self, name: str, meaning: str, labels: Labels, known: Sequence[Labels] = ()) -> None:
        self._name = name
        self._meaning = meaning
        self._labels = labels
        # A series that is there from the start shows its first step as one.
        self._counts: dict[Labels, int] = dict.fromkeys(known, 0)

    def add(self, *values: str) -> None:
        """Count one."""
        self._counts[values] = self._counts.get(values, 0) + 1

    def family(self) -> Family:
        """As it stands."""
        return counted(self._name, self._meaning, self._labels, self._counts)


class Histogram:
    """How long something took, in seconds: how often at most each of some bounds, and in sum."""

    def __init__(self, name: str, meaning: str, labels: Labels, bounds: Sequence[float]) -> None:
        self._name = name
        self._meaning = meaning
        self._labels = labels
        self._bounds = tuple(bounds)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Count one duration."""
        counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def family(self) -> Family:
        """As it stands."""
        samples: list[Sample] = []
        for values, counts in self._counts.items():
            labels = dict(zip(self._labels, values, strict=True))
            reached = 0
            for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
                reached += count
                shown = "+Inf" if bound == float("inf") else repr(float(bound))
                samples.append(Sample("_bucket", {**labels, "le": shown}, reached))
            samples += [Sample("_count", labels, reached), Sample("_sum", labels, self._sums[values])]
        return Family(name=self._name, kind="histogram", meaning=self._meaning, samples=samples)


def counted(name: str, meaning: str, labels: Labels, counts: Mapping[Labels, int]) -> Family:
    """A counter whose numbers are kept elsewhere."""
    samples = [
        Sample("_total", dict(zip(labels, values, strict=True)), count) for values, count in counts.items()
    ]
    return Family(name=name, kind="counter", meaning=meaning, samples=samples)


def gauge(name: str, meaning: str, value: float, **labels: str) -> Family:
    """A number that goes up and down."""
    return Family(name=name, kind="gauge", meaning=meaning, samples=[Sample("", labels, value)])
