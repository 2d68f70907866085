"""`make fuzz [ARGS="--seconds 60 --examples 100 --write"]`: the long search over all readers, and over the API by each role.

A reader is led by the code that its inputs reach where atheris is installed, and by Hypothesis alone where it is not. With
`--write`, how many inputs there were goes into docs/threats.md.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
from hypothesis import given, seed, settings

from tests.fuzz.api import fuzzed
from tests.fuzz.inputs import LENIENT, inputs, seeds
from tests.fuzz.targets import TARGETS
from tests.web.house import House

PAGE = Path(__file__).resolve().parents[2] / "docs/threats.md"
BEGIN, END = "<!-- fuzzed -->", "<!-- /fuzzed -->"
EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")
ROUND = 500
"""Examples of Hypothesis after which it is looked at the clock."""


def guided(name: str, seconds: float) -> int:
    """How many inputs libFuzzer has tried.

    Raises:
        SystemExit: if something was found; the input stands above.
    """
    with tempfile.TemporaryDirectory(prefix=f"upcall-fuzz-{name}-") as folder:
        for number, data in enumerate(seeds(TARGETS[name])):
            Path(folder, str(number)).write_bytes(data)
        limits = [
            f"-max_total_time={max(int(seconds), 1)}",
            "-print_final_stats=1",
            "-max_len=4096",
            "-rss_limit_mb=2048",
        ]
        command = [sys.executable, "-m", "tests.fuzz.guided", name, *limits, folder]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = EXECUTED.search(done.stderr)
    if done.returncode or found is None:
        sys.stderr.write(done.stdout[-3000:] + done.stderr[-6000:])
        raise SystemExit(f"{name}: something other than a refusal came out")
    return int(found[1])


def unguided(name: str, seconds: float) -> int:
    """How many inputs Hypothesis has tried; it raises what it has found, in its smallest form."""
    target, tried, began = TARGETS[name], 0, time.monotonic()
    while not tried or time.monotonic() - began < seconds:

        @seed(tried)
        @settings(max_examples=ROUND, deadline=None, database=None, suppress_health_check=LENIENT)
        @given(inputs(target))
        def search(data: bytes) -> None:
            target.run(data)

        search()
        tried += ROUND
    return tried


async def over_the_api(examples: int) -> Iterator[tuple[str, int]]:
    """How many requests each kind of caller has sent.

    Raises:
        SystemExit: if a reply was none that the document promises.
    """
    with tempfile.TemporaryDirectory(prefix="upcall-fuzz-api-") as folder:
        async with House.open(Path(folder)) as house:
            counts, faults = await fuzzed(house, examples, begin=int(time.time()))
    if faults:
        raise SystemExit("\n".join(faults))
    return iter(counts.items())


def main() -> None:
    """Search, say how much, and write it down if that is wanted."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument(
        "--examples", type=int, default=50, help="requests of each operation, that fit and that do not"
    )
    parser.add_argument("--write", action="store_true", help="write the counts into docs/threats.md")
    parser.add_argument("names", nargs="*", metavar="reader", help=f"any of {', '.join(TARGETS)}, api (all)")
    wanted = parser.parse_args()
    search = guided if importlib.util.find_spec("atheris") else unguided
    lines = ["| what was read | inputs |", "|---|---|"]
    for name in wanted.names or [*TARGETS, "api"]:
        if name == "api":
            rows = [(f"API, {caller}", count) for caller, count in anyio.run(over_the_api, wanted.examples)]
        else:
            rows = [(name, search(name, wanted.seconds))]
        for what, count in rows:
            lines.append(f"| {what} | {count:,} |")
            sys.stdout.write(f"{lines[-1]}\n")
            sys.stdout.flush()
    if wanted.write:
        led = "led by coverage (atheris)" if search is guided else "Hypothesis"
        told = f"Searched on {datetime.now(UTC):%Y-%m-%d}, readers {led}, {wanted.seconds:g} s each:"
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        table = "\n".join([BEGIN, "", told, "", *lines, "", END])
        PAGE.write_text(before + table + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
