"""`make bench ARGS=peers`: Upcall and its peers in turns, each with fresh processes, so that none disturbs another."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from benchmarks.bench import Bench, median, percentile
from benchmarks.daemon import Daemon
from benchmarks.peers.candidates import CANDIDATES, UPCALL, Candidate
from benchmarks.peers.harness import Json
from benchmarks.peers.servers import PYTHON
from benchmarks.peers.stage import Stage, staged
from benchmarks.peers.survival import survival
from benchmarks.pipe import start
from benchmarks.postgres import a_server
from benchmarks.report import Figure
from tests.postgres_server import PostgresServer

WAKE = "answer → agent, p50"
CYCLES = "cycles a second, {many} at once"
MEMORY = "memory of each waiting agent"
INITIALIZE = "until initialize is answered"
SURVIVAL = "after kill -9"

AT_ONCE, QUICK = (1, 16, 64, 256), (1, 4)
THINKING = (0.3, 1.3)
"""Seconds after which a person answers: every phase of a candidate that polls once a second is met alike."""

WARMING = 0.001
"""Seconds: time for one question of each agent, since a question that was begun is waited for."""

GRACE = 30.0
"""Seconds after which an answer counts as not delivered."""


class Turns:
    """What was measured so far, by candidate."""

    def __init__(self, bench: Bench, postgres: PostgresServer | None) -> None:
        self._bench = bench
        self._postgres = postgres
        self.wakes: dict[str, list[float]] = defaultdict(list)
        self.kib: dict[str, list[float]] = defaultdict(list)
        self.cycles: dict[tuple[str, int], list[Json]] = defaultdict(list)

    def measure(self, candidate: Candidate) -> None:
        """One turn of one candidate."""
        with self.stage(candidate) as stage:
            self.kib[candidate.name].append(self._memory(stage))
        with self.stage(candidate) as stage:
            went = _cycles(stage, 1, seconds=120, most=self._bench.size(20, 3), pause=THINKING)
            self.wakes[candidate.name] += went["wakes"]
            for many in AT_ONCE if not self._bench.quick else QUICK:
                if not self._fits(candidate, many) or not self._loaded(stage, many):
                    break

    def stage(self, candidate: Candidate) -> AbstractContextManager[Stage]:
        """The candidate with everything that it needs."""
        folder = self._bench.folder(candidate.module)
        return staged(candidate, folder, self._postgres)

    def _loaded(self, stage: Stage, many: int) -> bool:
        """Cycles of so many at once; False if the candidate did not come through, which is a result too."""
        try:
            went = _cycles(stage, many, seconds=self._bench.seconds(4, 1), most=100_000)
        except (TimeoutError, ChildProcessError) as problem:
            went = {"wakes": [], "seconds": GRACE, "failed": [str(problem)], "late": many}
        self.cycles[stage.candidate.name, many].append(went)
        return bool(went["wakes"])

    def _memory(self, stage: Stage) -> float:
        """KiB for each that waits, beside the first."""
        each = stage.candidate.process_each
        many = self._bench.size(8 if each else 64, 2 if each else 8)
        stage.start(1)
        stage.wait(range(1))
        alone = stage.kib()
        stage.start(many)
        stage.wait(range(1, many))
        return (stage.kib() - alone) / (many - 1)

    def _fits(self, candidate: Candidate, many: int) -> bool:
        """Whether so many take at most half of the memory that is there."""
        return many * median(self.kib[candidate.name]) < available() / 2


def run(bench: Bench) -> Iterator[Figure]:
    """Rounds of all candidates; then what starts, what survives, and a figure for each cell of the table."""
    if not PYTHON.exists():
        raise LookupError("the packages of others are not installed: run `make bench ARGS=peers`")
    with a_server() as postgres:
        turns = Turns(bench, postgres)
        for number in range(bench.size(3, 1)):
            for candidate in CANDIDATES:
                turns.measure(candidate)
                print(f"  round {number + 1}: {candidate.name}", flush=True)
        yield from figures(turns)
        yield from starts(bench.folder("starts"), bench.size(15, 2))
        for candidate in CANDIDATES:
            with turns.stage(candidate) as stage:
                yield survived(stage)


def figures(turns: Turns) -> Iterator[Figure]:
    """Each beside the same figure of Upcall through its client."""
    for name, wakes in turns.wakes.items():
        yield Figure(
            name=f"{name}: {WAKE}",
            measured=median(wakes) * 1e3,
            limit=median(turns.wakes[UPCALL.name]) * 1e3,
            unit="ms",
            limit_name=UPCALL.name,
            repetitions=len(wakes),
            details={"p99": percentile(wakes, 0.99) * 1e3},
        )
    for (name, many), went in turns.cycles.items():
        yield Figure(
            name=f"{name}: {CYCLES.format(many=many)}",
            measured=_rate(went),
            limit=_rate(turns.cycles[UPCALL.name, many]),
            unit="/s",
            limit_name=UPCALL.name,
            repetitions=len(went),
            details={
                "failed": sum(len(each["failed"]) for each in went),
                f"not answered within {GRACE:.0f} s": sum(each["late"] for each in went),
            },
        )
    for name, kib in turns.kib.items():
        yield Figure(
            name=f"{name}: {MEMORY}",
            measured=median(kib),
            limit=median(turns.kib[UPCALL.name]),
            unit="KiB",
            limit_name=UPCALL.name,
            repetitions=len(kib),
        )


def starts(folder: Path, rounds: int) -> Iterator[Figure]:
    """How soon each MCP server answers, in turns; the first round fills the system's caches."""
    took: dict[str, list[float]] = defaultdict(list)
    with Daemon(folder / "home") as daemon:
        home = {"UPCALL_HOME": str(daemon.home.path), "HOME": str(folder)}
        for turn in range(rounds + 1):
            for candidate in CANDIDATES:
                if isinstance(candidate.stdio, tuple):
                    began = start(candidate.stdio, **home, **candidate.variables)
                    took[candidate.name] += [began.seconds] if turn else []
    for name, seconds in took.items():
        yield Figure(
            name=f"{name}: {INITIALIZE}",
            measured=median(seconds) * 1e3,
            limit=median(next(iter(took.values()))) * 1e3,
            unit="ms",
            limit_name="`upcall mcp`",
            repetitions=rounds,
        )


def survived(stage: Stage) -> Figure:
    """How many of the three wishes came true; `details` has each, 1 for yes."""
    found = survival(stage)
    wishes = (found.kept, not found.asked_again, found.reached)
    return Figure(
        name=f"{stage.candidate.name}: {SURVIVAL}",
        measured=float(sum(wishes)),
        limit=float(len(wishes)),
        unit="of 3",
        details={name: float(value) for name, value in asdict(found).items() if value is not None},
    )


def available() -> float:
    """Memory that programs could still have, in KiB."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1])
    raise LookupError("/proc/meminfo does not say what is available")


def _cycles(
    stage: Stage, many: int, *, seconds: float, most: int, pause: tuple[float, float] = (0, 0)
) -> Json:
    """One question of each agent to warm up, then as many as there is time for."""
    stage.start(many)
    order = {"do": "cycles", "many": many, "grace": GRACE}
    stage.agents.order(2 * GRACE, **order, seconds=WARMING, most=many, pause=(0, 0))
    return stage.agents.order(seconds + 2 * GRACE, **order, seconds=seconds, most=most, pause=pause)


def _rate(went: list[Json]) -> float:
    # Where nothing was answered, no time was measured either.
    return median([len(each["wakes"]) / each["seconds"] if each["wakes"] else 0.0 for each in went])
