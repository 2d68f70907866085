"""`python -m benchmarks.sizing [FILE]`: from the results of a run to what a million open questions would take.

What was measured stands beside what follows from it, and how. With `--write` the table goes into docs/sizing.md.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT
from benchmarks.report import number

MILLION = 1_000_000
PAGE = ROOT / "docs" / "sizing.md"
BEGIN, END = "<!-- made by python -m benchmarks.sizing --write -->", "<!-- end -->"
GIB = 1024 * 1024
"""In KiB."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A figure by the beginning of its name, what it is about, and what a million makes of it."""

    figure: str
    about: str
    told: Callable[[Json], float]
    unit: str
    million: Callable[[float], str]
    how: str


def _measured(figure: Json) -> float:
    return float(figure["measured"])


def _answered(figure: Json) -> float:
    return float(figure["details"]["answered /s"])


def _room(kib: float) -> str:
    return f"{number(kib * MILLION / GIB)} GiB"


def _minutes(rate: float) -> str:
    return f"{number(MILLION / rate / 60)} minutes"


def _same(value: float) -> str:
    return "the same"


ROWS = (
    Row(
        figure=r"SQLite: room on disk",
        about="SQLite, disk for each question",
        told=_measured,
        unit="KiB",
        million=_room,
        how="times a million",
    ),
    Row(
        figure=r"PostgreSQL: room on disk",
        about="PostgreSQL, disk for each question",
        told=_measured,
        unit="KiB",
        million=_room,
        how="times a million",
    ),
    Row(
        figure=r"[\d,]+ agents blocked through pipes: memory each",
        about="memory of the daemons for each agent that waits behind a pipe",
        told=_measured,
        unit="KiB",
        million=_room,
        how="times a million, over as many daemons as there are",
    ),
    Row(
        figure=r"[\d,]+ blocked MCP HTTP calls: memory each",
        about="the same for each that waits over MCP's HTTP",
        told=_measured,
        unit="KiB",
        million=_room,
        how="times a million, over as many daemons as there are",
    ),
    Row(
        figure=r"[\d,]+ agents blocked at 2 daemons: wake across p99",
        about="answered a second, at 2 daemons, all at once",
        told=_answered,
        unit="/s",
        million=_minutes,
        how="a million divided by it: the database has one writer at a time, so more daemons do not help",
    ),
    Row(
        figure=r"SQLite with [\d,]+ open and [\d,]+ past: first page",
        about="SQLite, first page of what is open",
        told=_measured,
        unit="ms",
        million=_same,
        how="an index of what is open, read from one end",
    ),
    Row(
        figure=r"PostgreSQL with [\d,]+ open and [\d,]+ past: first page",
        about="PostgreSQL, first page of what is open",
        told=_measured,
        unit="ms",
        million=_same,
        how="an index of what is open, read from one end",
    ),
    Row(
        figure=r"PostgreSQL with [\d,]+ open and [\d,]+ past: daemon start",
        about="PostgreSQL, start of a daemon",
        told=_measured,
        unit="s",
        million=_same,
        how="nothing is loaded that is open",
    ),
)


def table(results: Json) -> Iterator[str]:
    """The lines of a Markdown table; what was not measured is not in it."""
    yield "| what | measured | with | a million open | how |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        for figure in results["figures"]:
            if re.match(row.figure, figure["name"]):
                value = row.told(figure)
                sizes = re.findall(r"[\d,]+(?= open| past| agents| blocked)", figure["name"])
                crowd = " + ".join(sizes) or f"{figure['repetitions']:,}"
                told = f"{number(value)} {row.unit}"
                yield f"| {row.about} | {told} | {crowd} | {row.million(value)} | {row.how} |"


def written(page: str, lines: list[str], results: Json) -> str:
    """The page with another table, and where it comes from."""
    machine = results["machine"]
    system, _, _ = machine["system"].partition("-")
    about = f"Measured on {results['at'][:10]}, {machine['cores']} cores, {system}."
    if results["quick"]:
        about += " Small sizes: these numbers mean nothing yet."
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", about, "", *lines, "", END + after])


def main() -> int:
    """Print the table, or put it into its page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "benchmarks" / "results" / "latest.json")
    parser.add_argument("--write", action="store_true", help="put it into docs/sizing.md")
    wanted = parser.parse_args()
    results = json.loads(wanted.file.read_text("utf-8"))
    lines = list(table(results))
    if wanted.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), lines, results), "utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
