"""`upcall status` in a terminal: as fast after a million inquiries as after a thousand, and quick to start."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench, median, timed
from benchmarks.daemon import Daemon
from benchmarks.history import fill
from benchmarks.report import Figure, Target

BARE_INTERPRETER = (sys.executable, "-c", "pass")
STATUS = (str(Path(sys.executable).parent / "upcall"), "status")
OPEN, TODAY = 10, 20


def run(bench: Bench) -> Iterator[Figure]:
    """Two homes, each with its daemon, in turns with a bare interpreter."""
    few, many = 1000, bench.size(1_000_000, 20_000)
    rounds = bench.size(25, 3)
    homes = {count: Daemon(bench.folder(f"status-{count}")) for count in (few, many)}
    began = time.perf_counter()
    for count, daemon in homes.items():
        fill(daemon.home.database_file, past=count, recent=TODAY, still_open=OPEN)
    filled = time.perf_counter() - began
    took: dict[int, list[float]] = {0: [], few: [], many: []}
    with homes[few], homes[many]:
        for turn in range(rounds + 2):
            seconds = {0: timed(BARE_INTERPRETER)}
            for count, daemon in homes.items():
                seconds[count] = timed(STATUS, UPCALL_HOME=str(daemon.home.path))
            # The first turns write bytecode and fill caches.
            if turn > 1:
                for count, each in seconds.items():
                    took[count].append(each)
    medians = {count: median(each) * 1e3 for count, each in took.items()}
    yield Figure(
        name=f"upcall status after {many:,} past inquiries",
        measured=medians[many],
        limit=medians[few],
        unit="ms",
        limit_name=f"the same after {few:,}",
        repetitions=rounds,
        target=Target(factor=1.3),
        details={"seconds to fill": filled},
    )
    yield Figure(
        name="upcall status, from start to end",
        measured=medians[few],
        limit=medians[0],
        unit="ms",
        limit_name="python -c pass",
        repetitions=rounds,
        target=Target(factor=4),
    )
