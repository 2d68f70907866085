"""Fifty agents, each with an `upcall mcp` of its own: durable cycles a second, beside fifty bare loops."""

import json
import subprocess
from collections.abc import Iterator, Sequence

from benchmarks.bench import Bench, child, cpu_nanoseconds, finish, median, told
from benchmarks.client import Json
from benchmarks.daemon import Daemon
from benchmarks.pipe import BARE_LOOP, CONSOLE_SCRIPT
from benchmarks.report import Figure, Target

PIPES = 50
WAKE = Target(plus=30)
CYCLES = Target(plus=1000, at_least=True)


def run(bench: Bench) -> Iterator[Figure]:
    """Asked, answered and collected; the pipes and the bare loops take turns."""
    pipes, rounds, seconds = bench.size(PIPES, 5), bench.size(5, 1), bench.seconds(5, 0.5)
    with Daemon(bench.folder("pipes")) as daemon:
        place = {
            "host": daemon.host,
            "port": daemon.port,
            "address": daemon.address,
            "person": daemon.person,
        }
        order = {"pipes": pipes, "environment": {"UPCALL_HOME": str(daemon.home.path)}}
        ours = _load(order | {"command": (*CONSOLE_SCRIPT, "--wait", "block"), "place": place})
        bare = _load(order | {"command": BARE_LOOP, "place": None})
        runs: dict[str, list[Json]] = {"pipes": [], "bare": []}
        try:
            for turn in range(rounds + 1):
                # The first turn warms everything up.
                for_seconds = seconds if turn else min(seconds, 1)
                before = cpu_nanoseconds(daemon.pid)
                went = _round(ours, for_seconds)
                went["daemon cpu"] = (cpu_nanoseconds(daemon.pid) - before) / 1e9 / went["cycles"]
                limit = _round(bare, min(for_seconds, 1))
                if turn:
                    runs["pipes"].append(went)
                    runs["bare"].append(limit)
        finally:
            finish(ours)
            finish(bare)
    yield from _figures(pipes, runs["pipes"], runs["bare"])


def _load(order: Json) -> "subprocess.Popen[str]":
    process = child("pipe_load", json.dumps(order))
    told(process)
    return process


def _round(load: "subprocess.Popen[str]", seconds: float) -> Json:
    assert load.stdin is not None
    load.stdin.write(f"{seconds}\n")
    went: Json = json.loads(told(load))
    return went


def _figures(pipes: int, ours: Sequence[Json], bare: Sequence[Json]) -> Iterator[Figure]:
    def middle(runs: Sequence[Json], name: str, times: float = 1) -> float:
        return median([each[name] for each in runs]) * times

    yield Figure(
        name=f"durable cycles through {pipes} upcall mcp",
        measured=middle(ours, "rate"),
        limit=middle(bare, "rate"),
        unit="/s",
        limit_name="as many bare loops over standard input and output",
        repetitions=len(ours),
        target=CYCLES,
        details={
            "cycle p50 ms": middle(ours, "p50", 1e3),
            "daemon's CPU µs each": middle(ours, "daemon cpu", 1e6),
            "pipes' CPU µs each": middle(ours, "pipes cpu", 1e6),
            "load's CPU µs each": middle(ours, "load cpu", 1e6),
            "bare loops' CPU µs each": middle(bare, "pipes cpu", 1e6),
        },
    )
    yield Figure(
        name=f"the same: answer sent over HTTP → call returned by upcall mcp, p50 of {pipes} at once",
        measured=middle(ours, "wake p50", 1e3),
        limit=None,
        unit="ms",
        repetitions=len(ours),
        target=WAKE,
        details={"p99": middle(ours, "wake p99", 1e3)},
    )
