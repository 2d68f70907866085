"""The real program, run as people and scripts run it, against a real daemon in a home of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from upcall.home.files import Home
from upcall.home.instance import stop_running

TIMEOUT = 110
"""A little less than a test has: the library of one channel alone takes most of a minute to load on a busy machine."""

Done = subprocess.CompletedProcess[str]


class Program:
    """`upcall` with one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("UPCALL_", "PYTEST_"))
        }
        self.environment |= {"UPCALL_HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}

    def __call__(self, *words: str, stdin: str = "", **variables: str) -> Done:
        return subprocess.run(
            self.command(words),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            env=self.environment | variables,
            cwd=self.home.parent,
        )

    def json(self, *words: str) -> Any:
        done = self(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.home.parent,
        )

    def asking(self, *words: str) -> tuple[str, subprocess.Popen[str]]:
        """An `upcall ask` that waits, and the ref of its question."""
        asking = self.start("ask", *words)
        assert asking.stderr is not None
        told = asking.stderr.readline()
        assert told.startswith("Asked "), told
        return told.split()[1].rstrip("."), asking

    def until_awaited(self) -> None:
        """Return once a call waits for an answer: `upcall ask` names its question a moment before it waits."""
        running = json.loads((self.home / "run.json").read_text())
        owner = (self.home / "owner.token").read_text().strip()
        metrics = Request(f"{running['url']}/metrics", headers={"Authorization": f"Bearer {owner}"})
        waiting = 0
        while not waiting:
            with urlopen(metrics, timeout=TIMEOUT) as reply:
                (line,) = re.findall(r"^upcall_waiting_callers (\d+)", reply.read().decode(), re.MULTILINE)
            waiting = int(line)

    def parked(self, *words: str) -> str:
        """The ref of an open question without a waiting call."""
        done = self("ask", *words, "--timeout", "0", "--json")
        assert done.returncode == 12, done.stderr
        ref: str = json.loads(done.stdout)["ref"]
        return ref

    @property
    def pid(self) -> int:
        pid: int = json.loads((self.home / "run.json").read_text())["pid"]
        return pid

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    def end(self) -> None:
        """End the daemon as `upcall down` does, without a process for it."""
        home = Home(self.home)
        if home.path.is_dir():
            home.write_private(home.down_mark, "")
            stop_running(home)

    def command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "upcall", *words]


def ended(process: subprocess.Popen[str]) -> Done:
    """How a process ended, and what it had to say."""
    out, err = process.communicate(timeout=TIMEOUT)
    return Done(process.args, process.returncode, out, err)


@contextmanager
def heeding_ctrl_c() -> Iterator[None]:
    """Where this process was told to ignore Ctrl-C, as in the background of a shell, its children would be too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One daemon for every test that can live with the questions of others."""
    program = Program(tmp_path_factory.mktemp("shared") / "home")
    yield program
    program.end()


@pytest.fixture
def upcall(tmp_path: Path) -> Iterator[Program]:
    """A home of the test's own."""
    program = Program(tmp_path / "home")
    yield program
    program.end()
