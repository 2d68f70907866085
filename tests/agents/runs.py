"""Runs of the real programs: begun with `upcall run`, and looked at as people and scripts do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.agents.dialect import Json
from tests.agents.person import Person
from tests.agents.programs import Desk, Program, need
from upcall.cli.client import Client, run_path
from upcall.home.files import Home

OVER = ("completed", "failed", "cancelled")

Done = subprocess.CompletedProcess[str]


class Run:
    """One run, as its owner sees it."""

    def __init__(self, client: Client, number: int) -> None:
        self.number = number
        self.name = str(number)
        self._client = client
        self._folder = client.home.path / "runs" / self.name

    @property
    def now(self) -> Json:
        """How it stands."""
        run: Json = self._client.get(run_path(self.number))
        return run

    @property
    def ended(self) -> bool:
        """Whether it will not ask again by itself."""
        return self.now["state"] in OVER

    def until(self, wanted: Callable[[Json], object]) -> Json:
        """The run as soon as something is true of it, which the log of events tells."""
        after = 0
        for _ in range(200):
            if wanted(run := self.now):
                return run
            assert run["state"] not in OVER, self.report()
            events = self._client.get("/v1/events", patience=30, after=after, wait=1)["items"]
            after = events[-1]["seq"] if events else after
        raise AssertionError(f"it never came to that: {self.report()}")

    def finish(self) -> Json:
        """Wait for its end."""
        return self.until(lambda run: run["state"] in OVER)

    def events(self, *kinds: str) -> list[Json]:
        """What the log of events says of it, and of its questions."""
        found: list[Json] = []
        after = 0
        while page := self._client.get("/v1/events", after=after)["items"]:
            after = page[-1]["seq"]
            found += [event for event in page if not kinds or event["type"] in kinds]
        return [event for event in found if event["data"].get("run") == self.number]

    def starts(self) -> int:
        """How many processes it has had."""
        return int((self._folder / "fence").read_text())

    def agent(self) -> int:
        """The agent's process, which is the first child of its keeper."""
        (keeper,) = [pid for pid, words in _processes() if words[-1:] == [str(self._folder)]]
        return _children(keeper)[0]

    def kill(self) -> None:
        """End the agent's process as a full memory does, without a word."""
        os.kill(self.agent(), signal.SIGKILL)

    def report(self) -> str:
        """Everything it said, for the message of a failed test."""
        files = sorted(self._folder.glob("*.log")) if self._folder.is_dir() else []
        said = "\n".join(file.read_text("utf-8", "replace") for file in files)
        return f"{json.dumps(self.now, indent=1)}\n{said}"


class Boss(Person):
    """Who starts runs, and answers them."""

    def run(self, program: Program, desk: Desk, task: str, *words: str) -> Run:
        """Have a task worked on."""
        need(program)
        done = self.upcall(desk, "run", program.name, task, "--json", *words)
        assert done.returncode == 0, done.stderr
        return Run(self.client, json.loads(done.stdout)["number"])

    def upcall(self, desk: Desk, *words: str) -> Done:
        """The command, typed where the agents work."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "upcall", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=desk.work,
            env={**desk.environment, "UPCALL_HOME": str(self.home.path)},
            timeout=60,
        )

    def said(self, desk: Desk, *words: str) -> str:
        """What a command printed."""
        done = self.upcall(desk, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def until_resume(self, name: str, state: str) -> Json:
        """An inquiry as soon as its delivery is in a state; what becomes of a delivery has no event of its own."""
        after = 0
        for _ in range(200):
            inquiry = self.show(name)
            if inquiry["resume"] and inquiry["resume"]["state"] == state:
                return inquiry
            events = self.client.get("/v1/events", patience=30, after=after, wait=1)["items"]
            after = events[-1]["seq"] if events else after
        raise AssertionError(f"{name} never was {state}: {self.show(name)}")

    def kill_daemon(self) -> None:
        """End the daemon without a word."""
        running = self.home.running()
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        self.leave()


@contextmanager
def a_boss(folder: Path, settings: str = "") -> Iterator[Boss]:
    """A person with a home of their own and a daemon that is up."""
    home = Home(folder)
    home.create()
    home.config_file.write_text(settings)
    with Boss(home) as boss:
        yield boss
        # Put down for good, which ends the runs that are still at work.
        home.write_private(home.down_mark, "")


def at_work_in(folder: Path) -> list[str]:
    """The processes that have a folder for their own, by the first of their words."""
    found: list[str] = []
    for pid, words in _processes():
        try:
            if words and Path(f"/proc/{pid}/cwd").readlink() == folder:
                found.append(words[0])
        except OSError:
            continue
    return found


def _processes() -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_text("utf-8", "replace").split("\0")
            except OSError:
                continue
            found.append((int(entry.name), words[:-1]))
    return found


def _children(parent: int) -> list[int]:
    """The children of a process, in the order of their births."""
    found: list[tuple[int, int]] = []
    for pid, _ in _processes():
        try:
            status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(status[1]) == parent:
            found.append((int(status[19]), pid))
    return [pid for _, pid in sorted(found)]
