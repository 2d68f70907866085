"""`python -m benchmarks [names …] [--quick] [--json FILE] [--strict]`."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    asking,
    baselines,
    blocked,
    browser,
    channels,
    crowd,
    cycles,
    files,
    first_question,
    hooks,
    http_cycles,
    pipe,
    pipes,
    postgres,
    programs,
    replicas,
    restart,
    search,
    status,
    store_wake,
    wake,
)
from benchmarks.bench import ROOT, Bench
from benchmarks.peers import figure as peers
from benchmarks.report import Figure, Report

FIGURES: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "baselines": baselines.run,
    "store-wake": store_wake.run,
    "search": search.run,
    "wake": wake.run,
    "cycles": cycles.run,
    "http-cycles": http_cycles.run,
    "blocked-mcp": blocked.run_mcp,
    "blocked-pipes": blocked.run_pipes,
    "postgres": postgres.run,
    "replicas": replicas.run,
    "crowd": crowd.run,
    "pipe": pipe.run,
    "pipes": pipes.run,
    "hooks": hooks.run,
    "files": files.run,
    "status": status.run,
    "first-question": first_question.run,
    "restart": restart.run,
    "client": programs.run,
    "inbox": browser.run,
    "channels": channels.run,
    "soak": asking.run,
    "peers": peers.run,
}
LONG = {"soak", "peers"}
"""Measured only where they are named: each takes half an hour or more, and `peers` needs the packages of others."""

RESULTS = ROOT / "benchmarks" / "results"


def main() -> int:
    """Measure what was named, or everything."""
    wanted = _arguments().parse_args()
    unknown = [name for name in wanted.names if name not in FIGURES]
    if unknown:
        print(f"there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    report = Report(quick=wanted.quick)
    for name in wanted.names or [name for name in FIGURES if name not in LONG]:
        _measure(name, wanted, report)
    report.write(wanted.json)
    print(f"\n{report.table()}\n\nwritten to {wanted.json}")
    if wanted.quick:
        print("quick: sizes are too small for these numbers to mean anything")
    missed = report.missed()
    if missed:
        print(f"{len(missed)} of the targets missed")
    return 1 if missed and wanted.strict else 0


def _measure(name: str, wanted: argparse.Namespace, report: Report) -> None:
    wanted.scratch.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=wanted.scratch))
    began = time.perf_counter()
    try:
        for figure in FIGURES[name](Bench(scratch=scratch, quick=wanted.quick)):
            report.add(figure)
    finally:
        shutil.rmtree(scratch)
    print(f"  {name}: {time.perf_counter() - began:.0f} s", flush=True)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"any of {', '.join(FIGURES)} (all but {', '.join(LONG)})"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that everything works")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        default=RESULTS / "latest.json",
        help="where to write the results",
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="FOLDER",
        default=RESULTS / "scratch",
        help="where databases are put; it should be on the disk that matters",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
