"""What every figure is given and what they share: sizes, a place on disk, statistics, child processes."""

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAUSE = 0.01
"""Seconds of idleness before a measurement that needs the whole machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One run. `scratch` is on the file system that is measured."""

    scratch: Path
    quick: bool

    def size(self, full: int, quick: int) -> int:
        """How many, or how often."""
        return quick if self.quick else full

    def seconds(self, full: float, quick: float) -> float:
        """How long."""
        return quick if self.quick else full

    def folder(self, name: str) -> Path:
        """A folder for one measurement alone."""
        number = sum(1 for _ in self.scratch.iterdir())
        path = self.scratch / f"{number:03}-{name}"
        path.mkdir()
        return path


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def environment(**more: str) -> dict[str, str]:
    """What child processes see: nothing of an agent that may have started us, and bytecode is written."""
    dropped = ("UPCALL_", "CLAUDE", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | more


def child(module: str, *arguments: str) -> "subprocess.Popen[str]":
    """A module of ours in a process of its own, spoken to in lines."""
    return subprocess.Popen(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def told(process: "subprocess.Popen[str]") -> str:
    """The next line that a child says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise ChildProcessError(f"{process.args!r} ended with {process.wait()}")
    return line.strip()


def finish(process: "subprocess.Popen[str]") -> None:
    """End a child by closing its input; one that does not listen is killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def timed(command: Sequence[str], **variables: str) -> float:
    """Seconds that a command takes from its start to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment(**variables), capture_output=True)
    return time.perf_counter() - began


def resident(pid: int) -> float:
    """What a process holds in memory, in KiB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Rss:"):
            return float(line.split()[1])
    raise LookupError(f"process {pid} has no memory")


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_nanoseconds(pid: int) -> int:
    """The same to the nanosecond, for what takes less than a tick of the system's clock: the sum of its threads that still run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks)


def allow_many_files() -> int:
    """Raise the limit of open files, for child processes too, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


@contextmanager
def collecting_as_the_daemon() -> Iterator[None]:
    """Let the garbage collector work as seldom as in the daemon."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
