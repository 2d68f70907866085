"""Durable cycles a second end to end over HTTP, beside the same requests answered with constants."""

import json
import subprocess
from collections.abc import Iterator

from benchmarks.bench import Bench, child, cpu_seconds, finish, median, told
from benchmarks.client import Json
from benchmarks.daemon import Daemon
from benchmarks.report import Figure, Target

CONCURRENT = 64


def run(bench: Bench) -> Iterator[Figure]:
    """The daemon and the constants in turns, loaded by a third process."""
    rounds, seconds = bench.size(5, 1), bench.seconds(3, 0.5)
    load, constants = child("load"), child("constants")
    try:
        with Daemon(bench.folder("http-cycles")) as daemon:
            order = {
                "concurrent": CONCURRENT,
                "host": daemon.host,
                "agent": daemon.agent,
                "person": daemon.person,
            }
            port = int(told(constants))
            places = {
                "daemon": (daemon.pid, order | {"port": daemon.port, "address": daemon.address}),
                "constants": (constants.pid, order | {"port": port, "address": f"127.0.0.1:{port}"}),
            }
            runs: dict[str, list[Json]] = {name: [] for name in places}
            for turn in range(rounds + 1):
                for name, (pid, place) in places.items():
                    # The first turn warms every client up.
                    went = loaded(load, pid, place | {"seconds": seconds if turn else min(seconds, 1)})
                    if turn:
                        runs[name].append(went)
    finally:
        finish(load)
        finish(constants)
    yield _figure(runs["daemon"], runs["constants"])


def loaded(load: "subprocess.Popen[str]", pid: int, order: Json) -> Json:
    """Have the load process ask and answer for a while; returns what it counted, and the processor time of each cycle."""
    assert load.stdin is not None
    before = cpu_seconds(pid)
    load.stdin.write(json.dumps(order) + "\n")
    went: Json = json.loads(told(load))
    return went | {"cpu": (cpu_seconds(pid) - before) / went["cycles"]}


def _figure(daemon: list[Json], constants: list[Json]) -> Figure:
    return Figure(
        name=f"durable cycles end to end over HTTP, {CONCURRENT} concurrent",
        measured=median([each["rate"] for each in daemon]),
        limit=median([each["rate"] for each in constants]),
        unit="/s",
        limit_name="the same requests answered with constants",
        repetitions=len(daemon),
        target=Target(factor=0.35, at_least=True),
        details={
            "wake p50 ms": median([each["p50"] for each in daemon]) * 1e3,
            "wake p99 ms": median([each["p99"] for each in daemon]) * 1e3,
            "server CPU µs each": median([each["cpu"] for each in daemon]) * 1e6,
            "constants' CPU µs each": median([each["cpu"] for each in constants]) * 1e6,
        },
    )
