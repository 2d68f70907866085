"""How long a daemon takes to be ready when a crowd is waiting for answers."""

from collections.abc import Iterator

from benchmarks.bench import Bench, median
from benchmarks.daemon import Daemon
from benchmarks.history import fill
from benchmarks.report import Figure, Target


def run(bench: Bench) -> Iterator[Figure]:
    """Two homes in turns, each with a daemon that starts and ends."""
    count, rounds = bench.size(100_000, 5_000), bench.size(7, 2)
    homes = {0: Daemon(bench.folder("restart-none")), count: Daemon(bench.folder("restart-many"))}
    for still_open, daemon in homes.items():
        fill(daemon.home.database_file, still_open=still_open)
    took: dict[int, list[float]] = {still_open: [] for still_open in homes}
    for turn in range(rounds + 1):
        for still_open, daemon in homes.items():
            seconds = daemon.start()
            daemon.stop()
            if turn:
                took[still_open].append(seconds)
    yield Figure(
        name="daemon start with none open",
        measured=median(took[0]),
        limit=None,
        unit="s",
        repetitions=rounds,
        target=Target(plus=0.4),
    )
    yield Figure(
        name=f"daemon start with {count:,} open",
        measured=median(took[count]),
        limit=median(took[0]),
        unit="s",
        limit_name="start with none",
        repetitions=rounds,
        target=Target(factor=2, plus=1),
    )
