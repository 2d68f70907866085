"""`python -m benchmarks.peers.table [FILE] [--write]`: from the results of `make bench ARGS=peers` to two Markdown tables.

With `--write` they go into docs/benchmarks.md: what survived, since that depends on no load, and the figures if they mean something.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT
from benchmarks.peers.candidates import CANDIDATES, CLOUD, Candidate
from benchmarks.peers.figure import AT_ONCE, CYCLES, INITIALIZE, MEMORY, SURVIVAL, WAKE
from benchmarks.report import number

PAGE = ROOT / "docs" / "benchmarks.md"
MARK, END = "<!-- {part} of peers: made by python -m benchmarks.peers.table --write -->", "<!-- end -->"
Json = Mapping[str, Any]
YES, NO, NONE = "yes", "no", "\N{EN DASH}"


def measured(results: Json) -> list[str]:
    """The lines of the table of figures."""
    at_once = " | ".join(f"{many} at once" for many in AT_ONCE)
    found = _by_name(results)
    rows = [_row(candidate, found) for candidate in CANDIDATES]
    rows += [f"| {name} | {why} |" + " |" * (len(AT_ONCE) + 3) for name, why in CLOUD.items()]
    return [
        f"| | on disk at its defaults | {WAKE} | cycles a second: {at_once} | {MEMORY} | MCP server {INITIALIZE} |",
        "|---" * (len(AT_ONCE) + 5) + "|",
        *rows,
    ]


def survived(results: Json) -> list[str]:
    """The lines of the table of what is left after kill -9."""
    head = (
        "the question is still there",
        "asked once more by the agent that is started again",
        "an answer given meanwhile reaches it",
        "the agent that waits gets its answer although the server was killed",
    )
    found = _by_name(results)
    rows = [_survivor(name.partition(": ")[0], found[name]) for name in found if name.endswith(SURVIVAL)]
    rows += [f"| {name} | not tried: {why} |" + " |" * (len(head) - 1) for name, why in CLOUD.items()]
    return [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|", *rows]


def written(page: str, part: str, lines: list[str]) -> str:
    """The page with another table in its place."""
    mark = MARK.format(part=part)
    before, found, rest = page.partition(mark)
    if not found:
        raise LookupError(f"{PAGE} has no place for {part}: {mark}")
    _, _, after = rest.partition(END)
    return "\n".join([before + mark, "", *lines, "", END + after])


def about(results: Json) -> str:
    """Where the figures come from."""
    machine = results["machine"]
    system, _, _ = machine["system"].partition("-")
    return (
        f"Measured on {results['at'][:10]}, {machine['cores']} cores, {system}, Python {machine['python']}."
    )


def _by_name(results: Json) -> dict[str, Json]:
    return {figure["name"]: figure for figure in results["figures"]}


def _row(candidate: Candidate, found: Mapping[str, Json]) -> str:
    def cell(what: str, instead: str = NONE) -> str:
        figure = found.get(f"{candidate.name}: {what}")
        return (
            instead if figure is None else f"{number(figure['measured'])} {figure['unit']}{_remark(figure)}"
        )

    no_room = f"{NONE}: each agent is a process" if candidate.process_each else NONE
    cells = [
        candidate.durable,
        cell(WAKE),
        *[cell(CYCLES.format(many=many), no_room) for many in AT_ONCE],
        cell(MEMORY),
        cell(INITIALIZE, candidate.stdio if isinstance(candidate.stdio, str) else NONE),
    ]
    return f"| {candidate.name} | {' | '.join(cells)} |"


def _remark(figure: Json) -> str:
    """What did not come through, which a rate alone would not tell."""
    lost = [
        f"{number(count)} {what}"
        for what, count in figure["details"].items()
        if count and re.match("failed|not answered", what)
    ]
    return f" ({', '.join(lost)})" if lost else ""


def _survivor(name: str, figure: Json) -> str:
    words = {1.0: YES, 0.0: NO, None: "no server of its own"}
    details = figure["details"]
    cells = [words[details.get(what)] for what in ("kept", "asked_again", "reached", "server")]
    return f"| {name} | {' | '.join(cells)} |"


def _parts(results: Json) -> Iterator[tuple[str, list[str]]]:
    yield "survival", survived(results)
    if not results["quick"]:
        yield "figures", [about(results), "", *measured(results)]


def main() -> int:
    """Print the tables, or put them into their page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.table", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "benchmarks" / "results" / "latest.json")
    parser.add_argument("--write", action="store_true", help="put them into docs/benchmarks.md")
    wanted = parser.parse_args()
    results = json.loads(wanted.file.read_text("utf-8"))
    if wanted.write:
        for part, lines in _parts(results):
            PAGE.write_text(written(PAGE.read_text("utf-8"), part, lines), "utf-8")
    print("\n".join([*measured(results), "", *survived(results)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
