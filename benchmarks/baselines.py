"""The limits themselves: what this machine needs for the parts that nothing of ours can do without."""

from collections.abc import Iterator

from benchmarks.bench import Bench, median, percentile, timed
from benchmarks.pipe import BARE_LOOP, Start, start
from benchmarks.probe import Probe
from benchmarks.report import Figure
from benchmarks.status import BARE_INTERPRETER


def run(bench: Bench) -> Iterator[Figure]:
    """A sync, a round trip, a bare interpreter, a bare loop over standard input and output."""
    with Probe(bench.folder("baselines")) as probe:
        samples = [probe.sample() for _ in range(bench.size(200, 20))]
    yield _milliseconds("one idle fdatasync of 4 KiB", [sample.sync for sample in samples])
    yield _milliseconds("one asyncio round trip over loopback", [sample.trip for sample in samples])
    rounds = bench.size(15, 3)
    yield _milliseconds("python -c pass", [timed(BARE_INTERPRETER) for _ in range(rounds)])
    starts: list[Start] = [start(BARE_LOOP) for _ in range(rounds)]
    yield _milliseconds(
        "bare stdio loop until initialize is answered",
        [each.seconds for each in starts],
        rss_kib=median([each.kib for each in starts]),
    )


def _milliseconds(name: str, seconds: list[float], **details: float) -> Figure:
    return Figure(
        name=name,
        measured=median(seconds) * 1e3,
        limit=None,
        unit="ms",
        repetitions=len(seconds),
        details={"p99": percentile(seconds, 0.99) * 1e3, **details},
    )
