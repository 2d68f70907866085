"""One candidate at work: its server, a process of agents and a process of a person, spoken to in lines of JSON."""

import json
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT, environment
from benchmarks.peers.candidates import Candidate
from benchmarks.peers.harness import Json
from benchmarks.peers.servers import Server
from tests.postgres_server import PostgresServer

STARTING = 300.0
"""Seconds that many processes may take to start on a machine with few processors."""

LOOK = 0.1
"""Seconds between two looks at whether something has come."""


class Child:
    """A process in a group of its own, so that all that it started can be killed with it."""

    def __init__(self, candidate: Candidate, role: str, place: Json, log: Path) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [candidate.python, "-m", f"benchmarks.peers.{candidate.module}", role, json.dumps(place)],
                cwd=ROOT,
                env=environment(HOME=str(log.parent), **candidate.variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,
            )
        self._log = log
        self._said = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def order(self, patience: float = STARTING, /, **words: Any) -> Json:
        """Tell it something; what it says next."""
        self.tell(**words)
        return self.said(patience)

    def tell(self, **words: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")

    def said(self, patience: float) -> Json:
        """What it says next.

        Raises:
            TimeoutError: if it says nothing for so long.
            ChildProcessError: if it has ended.
        """
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._said:
            if not select.select([pipe], [], [], patience)[0]:
                raise TimeoutError(f"{self._process.args!r} has said nothing for {patience} s")
            more = os.read(pipe, 1 << 20)
            if not more:
                raise ChildProcessError(f"it ended: {self._log.read_text(errors='replace')[-2000:]}")
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        words: Json = json.loads(line)
        return words

    def kill(self) -> None:
        """End it and all that it started with SIGKILL."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # One that was waited for may have given its number to another process.
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class Stage:
    """What runs of a candidate now."""

    def __init__(self, candidate: Candidate, folder: Path, server: Server) -> None:
        self.candidate = candidate
        self.server = server
        self._folder = folder
        self.place = server.start()
        self.person = self._child("person")
        self._port: int = self.person.said(STARTING)["port"]
        self.agents = self._child("agents")

    def start(self, many: int) -> None:
        """Have so many agents ready."""
        self.agents.order(do="start", many=many, port=self._port)

    def wait(self, agents: range) -> None:
        """Have these agents ask, until the person has seen the questions; none of them is answered.

        Raises:
            TimeoutError: if the person does not see all of them.
        """
        wanted = self.person.order(do="told")["seen"] + len(agents)
        self.agents.tell(do="wait", agents=[agents.start, agents.stop])
        end = time.monotonic() + STARTING
        while self.person.order(do="told")["seen"] < wanted:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.candidate.name}: not all of {len(agents)} questions were seen")
            time.sleep(LOOK)

    def another_crew(self, many: int = 1) -> None:
        """Agents in a new process, as after a crash; the person stays."""
        self.agents = self._child("agents")
        self.start(many)

    def kib(self) -> float:
        """The memory of agents and server together, each page that processes share counted once."""
        return sum(_proportional(pid) for pid in [*_family(self.agents.pid), *self.server.pids()])

    def close(self) -> None:
        """End agents and person; nothing of theirs is needed any more."""
        self.agents.kill()
        self.person.kill()

    def _child(self, role: str) -> Child:
        place = self.place | {"prefix": secrets.token_hex(4)}
        return Child(self.candidate, role, place, self._folder / f"{role}.log")


@contextmanager
def staged(candidate: Candidate, folder: Path, postgres: PostgresServer | None) -> Iterator[Stage]:
    """A candidate with everything that it needs, until the end of the block."""
    server = candidate.server(folder, postgres)
    try:
        stage = Stage(candidate, folder, server)
        try:
            yield stage
        finally:
            stage.close()
    finally:
        server.stop()


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *[each for child in children for each in _family(int(child))]]


def _proportional(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1])
    raise LookupError(f"process {pid} has no memory")
