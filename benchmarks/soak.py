"""`python -m benchmarks.soak [--minutes 60]`: a steady load on one daemon, and whether its memory grows.

The caches of a daemon (the database's above all) are full after some ten thousand questions. What is held before that is left out.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import child, finish, median, resident
from benchmarks.daemon import Daemon
from benchmarks.http_cycles import CONCURRENT, loaded

ROUND_SECONDS = 20.0
FEWEST = 6
WARM = 40_000
"""Questions after which every cache is full."""

MOST_GROWTH = 20.0
"""KiB for each 1 000 questions that were asked and answered; a leak of one small object for each question is more."""


class Sample(NamedTuple):
    """After a round: how many questions were asked and answered so far, and the KiB that the daemon holds."""

    cycles: int
    kib: float


def growth(samples: Sequence[Sample]) -> float:
    """KiB for each 1 000 questions, once every cache is full."""
    late = _warm(samples, WARM)
    middle = len(late) // 2
    first, last = late[:middle], late[-middle:]
    held = median([each.kib for each in last]) - median([each.kib for each in first])
    asked = median([each.cycles for each in last]) - median([each.cycles for each in first])
    return held / asked * 1000


def _warm(samples: Sequence[Sample], warm: int) -> Sequence[Sample]:
    return [each for each in samples if each.cycles >= warm]


def soak(folder: Path, rounds: int, seconds: float, warm: int = 0) -> list[Sample]:
    """Load a daemon until it is warm, and then for so many rounds, and say after each how it stands."""
    samples: list[Sample] = []
    cycles, load = 0, child("load")
    try:
        with Daemon(folder) as daemon:
            order = {
                "concurrent": CONCURRENT,
                "host": daemon.host,
                "port": daemon.port,
                "address": daemon.address,
                "agent": daemon.agent,
                "person": daemon.person,
                "seconds": seconds,
            }
            while len(_warm(samples, warm)) < rounds:
                cycles += int(loaded(load, daemon.pid, order)["cycles"])
                samples.append(Sample(cycles, resident(daemon.pid)))
                print(f"{cycles} questions, {samples[-1].kib / 1024:.1f} MiB", flush=True)
    finally:
        finish(load)
    return samples


def main() -> int:
    """Exit with 1 if the memory grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    minutes: float = parser.parse_args().minutes
    rounds = max(int(minutes * 60 / ROUND_SECONDS), FEWEST)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="upcall-soak-") as folder:
        samples = soak(Path(folder), rounds, min(ROUND_SECONDS, minutes * 60 / rounds), WARM)
    grown = growth(samples)
    print(
        f"{grown:.1f} KiB for each 1 000 questions (at most {MOST_GROWTH:g}), {time.monotonic() - began:.0f} s"
    )
    return int(grown > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
