"""`python -m tests.simulation [--count N | --minutes M] [--seed S] [--plan FILE] [--keep FOLDER]`: simulates many worlds.

Prints each promise that was broken with the smallest plan that breaks it; `--keep` writes those plans to files that
`test_simulation.py` runs from then on.
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random

from tests.simulation.plan import plan_in, random_plan
from tests.simulation.simulate import Simulated, shrunk, simulate

KEPT = Path(__file__).with_name("kept")


def main() -> int:
    """Simulate, shrink and tell."""
    options = argparse.ArgumentParser(prog="make simulate ARGS=…")
    options.add_argument("--count", type=int, default=200, help="how many worlds")
    options.add_argument("--minutes", type=float, help="instead of a count: for how long")
    options.add_argument("--seed", type=int, help="the seed of the first world; the next ones follow")
    options.add_argument("--plan", type=Path, help="one plan from a file, with its trace")
    options.add_argument(
        "--keep", type=Path, help=f"where to write what breaks a promise, such as {KEPT.name}"
    )
    given = options.parse_args()
    if given.plan is not None:
        return _tell(simulate(plan_in(given.plan.read_text())))
    seed = Random().randrange(10**9) if given.seed is None else given.seed
    sys.stdout.write(f"seed {seed}\n")
    began, cpu, worlds, steps, found = time.monotonic(), time.process_time(), 0, 0, 0
    while worlds < given.count if given.minutes is None else time.monotonic() - began < given.minutes * 60:
        done = simulate(random_plan(seed + worlds))
        worlds, steps = worlds + 1, steps + done.steps
        if done.broken is not None:
            found += 1
            smallest = shrunk(done)
            _tell(smallest)
            if given.keep is not None:
                given.keep.mkdir(exist_ok=True)
                (given.keep / f"{smallest.plan.seed}.json").write_text(smallest.plan.as_json())
    minutes = (time.process_time() - cpu) / 60
    sys.stdout.write(
        f"{worlds} worlds, {steps} steps, {steps / minutes / 1e6:.1f} million steps a CPU minute, "
        f"{found} broke a promise\n"
    )
    return found > 0


def _tell(done: Simulated) -> int:
    if done.broken is None:
        sys.stdout.write(f"every promise holds after {done.steps} steps\n")
        return 0
    lines = ["", str(done.broken), *done.trace, done.plan.as_json()]
    sys.stdout.write("\n".join(lines))
    return 1


if __name__ == "__main__":
    sys.exit(main())
