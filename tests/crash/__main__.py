"""`python -m tests.crash [--count N] [--seed S] [--write FILE]`: kills, stops, starves and cuts off real processes at random points.

Half of the scenarios run on SQLite, half on PostgreSQL with two daemons. `--write` writes what came of them to a file.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from threading import Thread

from tests.crash.lane import Order
from tests.crash.log import Json
from tests.crash.machines import ALONE, can_be_alone

ROUND = 12
"""How many scenarios one installation has."""

WIDE = 4
"""How many of them at once."""

BESIDE = 6
"""How many installations of a lane at once: they wait for leases and pauses most of the time."""


class Outcome:
    """What came of all rounds."""

    def __init__(self) -> None:
        self.scenarios, self.faults, self.points = Counter[str](), Counter[str](), Counter[str]()
        self.found: list[str] = []
        self.cpu = 0.0

    def add(self, seed: str, said: Json) -> None:
        """Take in what a lane says."""
        if "cpu" in said:
            self.cpu += said["cpu"]
            return
        self.scenarios[said["store"]] += said["scenarios"]
        self.faults.update(said["faults"])
        self.points.update(said["points"])
        if said["problem"]:
            self.found.append(f"{said['store']}, seed {seed}.{said['round']}: {said['problem']}")

    def as_document(self) -> Json:
        """The result as JSON."""
        return {
            "scenarios": dict(self.scenarios),
            "faults": dict(sorted(self.faults.items())),
            "points": dict(sorted(self.points.items())),
            "found": self.found,
        }


def play(
    seed: str, count: int, *, lanes: int, keep: str = "", tell: Callable[[Outcome], None] = lambda _: None
) -> Outcome:
    """Play so many scenarios; everything that was made for them is gone afterwards."""
    alone = can_be_alone()
    rounds = [(number, min(ROUND, count - begin)) for number, begin in enumerate(range(0, count, ROUND))]
    outcome = Outcome()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="upcall-crash-")))
        folder.chmod(0o755)
        reading: list[Thread] = []
        running: list[subprocess.Popen[str]] = []
        for lane in range(min(lanes, len(rounds))):
            order: Order = {
                "seed": seed,
                "rounds": _dealt(rounds, lane, lanes),
                "beside": BESIDE,
                "wide": WIDE,
                "alone": alone,
                "keep": keep,
            }
            process = stack.enter_context(_lane(order, folder))
            stack.callback(_end, process, alone=alone)
            running.append(process)
            reading.append(Thread(target=_read, args=(process, seed, outcome, tell)))
            reading[-1].start()
        for thread in reading:
            thread.join()
        for process in running:
            if process.wait():
                outcome.found.append(f"a lane ended with {process.returncode}")
    return outcome


def _dealt(rounds: list[tuple[int, int]], lane: int, lanes: int) -> list[tuple[int, int]]:
    """The rounds of a lane: each has both stores."""
    return [(number, count) for number, count in rounds if number // 2 % lanes == lane]


def _lane(order: Order, folder: Path) -> subprocess.Popen[str]:
    before = ALONE if order["alone"] else ()
    return subprocess.Popen(
        [*before, sys.executable, "-m", "tests.crash.lane", json.dumps(order)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def _end(process: subprocess.Popen[str], *, alone: bool) -> None:
    """End a lane with everything in it, if it is not over. The process ends after all of that."""
    if process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        # In namespaces of its own, its first process is the child of the command that made them.
        first = int(children[0]) if alone else process.pid
        os.kill(first, signal.SIGTERM)


def _read(
    process: subprocess.Popen[str], seed: str, outcome: Outcome, tell: Callable[[Outcome], None]
) -> None:
    for said in _lines(process):
        outcome.add(seed, said)
        tell(outcome)


def _lines(process: subprocess.Popen[str]) -> Iterator[Json]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def main() -> int:
    """Play, check and tell."""
    options = argparse.ArgumentParser(prog="make crash ARGS=…")
    options.add_argument("--count", type=int, default=100, help="how many scenarios")
    options.add_argument("--seed", help="the seed; without one, a new one is chosen and printed")
    options.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="how many at a time")
    options.add_argument("--write", type=Path, help="a file for the result")
    options.add_argument("--keep", type=Path, help="a folder for logs of what went wrong")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    seed: str = str(Random().randrange(10**9)) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    began, steady = time.time(), time.monotonic()
    keep = "" if given.keep is None else str(given.keep.resolve())
    outcome = play(seed, given.count, lanes=given.lanes, keep=keep, tell=_tell)
    result = {
        "seed": seed,
        "date": time.strftime("%Y-%m-%d", time.gmtime(began)),
        **outcome.as_document(),
        "seconds": round(time.monotonic() - steady),
        "processor_seconds": round(outcome.cpu),
    }
    if given.write is not None:
        given.write.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(json.dumps(result) + "\n")
    return bool(outcome.found)


def _tell(outcome: Outcome) -> None:
    held = f"{len(outcome.found)} broken: {outcome.found[-1]}" if outcome.found else "every promise holds"
    sys.stdout.write(f"{outcome.scenarios.total()} scenarios, {held}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
