"""The hooks of a terminal with the daemon gone: how long a program waits for one that decides nothing."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench import Bench, environment, finish, median, percentile, told
from benchmarks.report import Figure, Target
from benchmarks.status import BARE_INTERPRETER
from upcall import __version__
from upcall.home.files import Home, Running

MOST = 300.0
"""Milliseconds that a dialog may come later because of a hook."""

HOOK = (str(Path(sys.executable).parent / "upcall"), "hook", "away")
ASKED = {
    "hook_event_name": "PermissionRequest",
    "session_id": "s1",
    "tool_name": "Bash",
    "tool_input": {"command": "make deploy"},
}
EVENTS: Mapping[str, Mapping[str, object]] = {
    "claude": ASKED,
    "codex": ASKED,
    "opencode": {"type": "permission.asked", "session": "s1", "about": {"id": "p1", "permission": "bash"}},
    "gemini": {
        "hook_event_name": "BeforeTool",
        "session_id": "s1",
        "tool_name": "ask_user",
        "tool_input": {},
    },
    "copilot": {"sessionId": "s1", "toolName": "bash", "toolInput": {"command": "make deploy"}},
}
WORDS: Mapping[str, tuple[str, ...]] = {"claude": (), "copilot": ("copilot", "permissionRequest")}
"""What follows `upcall hook away`, where that is not the name of the program alone."""
BARE = "bare"
STARTER = Path(__file__).parent / "scripts" / "starting_hooks.py"
SOCKET = "app-server-control/app-server-control.sock"


class Took(NamedTuple):
    """Seconds of one hook, on the clock and of the processor."""

    seconds: float
    processor: float


def run(bench: Bench) -> Iterator[Figure]:
    """For each program, in turns with a bare interpreter; without a daemon, and with what one left that was killed."""
    rounds = bench.size(25, 3)
    for state in ("down", "killed"):
        folder = bench.folder(f"hooks-{state}")
        _prepare(folder, is_killed=state == "killed")
        took: dict[str, list[Took]] = {name: [] for name in (BARE, *EVENTS)}
        # Codex starts its hooks from a server without a terminal, the others from the program in it.
        with (
            _starter(folder, "program") as program,
            _starter(folder, "codex"),
            _starter(folder, "server", has_terminal=False) as server,
        ):
            for turn in range(rounds + 1):
                for name, each in took.items():
                    measured = _measure(server if name in {BARE, "codex"} else program, name, folder)
                    # The first time writes bytecode and fills the system's caches.
                    if turn:
                        each.append(measured)
        yield from _figures(state, took, rounds)


def _figures(state: str, took: Mapping[str, list[Took]], rounds: int) -> Iterator[Figure]:
    for program in EVENTS:
        seconds = [each.seconds * 1e3 for each in took[program]]
        yield Figure(
            name=f"hook of {program}, daemon {state}: from its start to its end",
            measured=median(seconds),
            limit=median([each.seconds * 1e3 for each in took[BARE]]),
            unit="ms",
            limit_name="python -c pass",
            repetitions=rounds,
            target=Target(plus=MOST),
            details={
                "p90, ms": percentile(seconds, 0.9),
                "of the processor, ms": median([each.processor * 1e3 for each in took[program]]),
                "of python -c pass, ms": median([each.processor * 1e3 for each in took[BARE]]),
            },
        )


def _prepare(folder: Path, *, is_killed: bool) -> None:
    """A home, and the socket of a Codex that runs. A daemon that was killed leaves its runtime file; its number is this process's by now."""
    home = Home(folder / "home")
    home.create()
    socket = folder / "codex" / SOCKET
    socket.parent.mkdir(parents=True)
    socket.touch()
    if is_killed:
        # No program listens on port 1.
        left = Running(pid=os.getpid(), url="http://127.0.0.1:1", pipe_port=1, token="", version=__version__)
        home.runtime_file.write_text(json.dumps(left._asdict()), "utf-8")


def _measure(starter: "subprocess.Popen[str]", name: str, folder: Path) -> Took:
    words = BARE_INTERPRETER if name == BARE else (*HOOK, *WORDS.get(name, (name,)))
    event = json.dumps({**EVENTS.get(name, {}), "cwd": str(folder), "directory": str(folder)})
    assert starter.stdin is not None
    print(json.dumps([words, event]), file=starter.stdin, flush=True)
    return Took(*json.loads(told(starter)))


@contextmanager
def _starter(folder: Path, name: str, *, has_terminal: bool = True) -> Iterator["subprocess.Popen[str]"]:
    """A program of that name in a session of its own, which works in the folder and starts hooks."""
    master, slave = pty.openpty()
    words = [sys.executable, str(STARTER), name, *([os.ttyname(slave)] if has_terminal else [])]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment(UPCALL_HOME=str(folder / "home"), CODEX_HOME=str(folder / "codex")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
    )
    os.close(slave)
    try:
        told(process)
        yield process
    finally:
        finish(process)
        os.close(master)
