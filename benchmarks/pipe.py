"""`upcall mcp`, which every agent starts: how soon it answers, and how much it holds, beside a bare loop."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import Bench, environment, median, resident
from benchmarks.daemon import Daemon
from benchmarks.report import Figure, Target

BARE_LOOP = (sys.executable, str(Path(__file__).parent / "scripts" / "bare_loop.py"))
CONSOLE_SCRIPT = (str(Path(sys.executable).parent / "upcall"), "mcp")
MODULE = (sys.executable, "-m", "upcall", "mcp")
_PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _PARAMS}


class Start(NamedTuple):
    """Seconds until `initialize` was answered, and KiB resident then."""

    seconds: float
    kib: float


def start(command: Sequence[str], **variables: str) -> Start:
    """Start a server on standard input and output, and end it again."""
    line = json.dumps(_INITIALIZE).encode() + b"\n"
    surroundings = environment(**variables)
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        bufsize=0,
        env=surroundings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    reply = process.stdout.readline()
    seconds = time.perf_counter() - began
    if b'"result"' not in reply:
        raise ChildProcessError(f"{command!r} said {reply!r}")
    kib = resident(process.pid)
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    return Start(seconds, kib)


def without_a_daemon(bench: Bench) -> Figure:
    """The pipe starts a daemon then, and answers while that comes up."""
    home, rounds = bench.folder("pipe-alone"), bench.size(15, 2)
    starts: dict[str, list[Start]] = {"bare": [], "script": []}
    # The pipe replies with what the last daemon of this home has left for it.
    Daemon(home).start_and_stop()
    for turn in range(rounds + 1):
        for name, command in {"bare": BARE_LOOP, "script": CONSOLE_SCRIPT}.items():
            measured = start(command, UPCALL_HOME=str(home))
            if turn:
                starts[name].append(measured)
        subprocess.run(
            (*MODULE[:-1], "down"), check=True, env=environment(UPCALL_HOME=str(home)), capture_output=True
        )
    seconds = {name: median([each.seconds for each in found]) * 1e3 for name, found in starts.items()}
    return Figure(
        name="upcall mcp until initialize is answered, while the daemon comes up",
        measured=seconds["script"],
        limit=seconds["bare"],
        unit="ms",
        limit_name="bare stdio loop",
        repetitions=rounds,
        target=Target(factor=3),
    )


def run(bench: Bench) -> Iterator[Figure]:
    """Interleaved, so that a busy moment affects every variant."""
    yield without_a_daemon(bench)
    commands = {"bare": BARE_LOOP, "script": CONSOLE_SCRIPT, "module": MODULE}
    rounds = bench.size(25, 3)
    starts: dict[str, list[Start]] = {name: [] for name in commands}
    with Daemon(bench.folder("pipe")) as daemon:
        for turn in range(rounds + 1):
            for name, command in commands.items():
                measured = start(command, UPCALL_HOME=str(daemon.home.path))
                # The first time writes bytecode and fills the system's caches.
                if turn:
                    starts[name].append(measured)
    seconds = {name: median([each.seconds for each in found]) * 1e3 for name, found in starts.items()}
    memory = {name: median([each.kib for each in found]) / 1024 for name, found in starts.items()}
    yield Figure(
        name="upcall mcp until initialize is answered",
        measured=seconds["script"],
        limit=seconds["bare"],
        unit="ms",
        limit_name="bare stdio loop",
        repetitions=rounds,
        target=Target(factor=3.5),
        details={"python -m upcall mcp": seconds["module"]},
    )
    yield Figure(
        name="upcall mcp, resident memory",
        measured=memory["script"],
        limit=memory["bare"],
        unit="MiB",
        limit_name="bare stdio loop",
        repetitions=rounds,
        target=Target(factor=2.2),
        details={"python -m upcall mcp": memory["module"]},
    )
