"""A daemon on a real socket and a thread of its own; the test moves its runs on."""

import asyncio
import subprocess
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from tests.cli.conftest import TIMEOUT, Done, Program
from tests.web.house import CHOICE, House, serving
from tests.web.runs import MemoryRuns
from upcall.access.tokens import digest
from upcall.domain.records import Happening
from upcall.domain.roles import Caller, Role

T = TypeVar("T")


class Office:
    """What the test does behind the commands' back; `upcall` is the program as `ana` runs it."""

    def __init__(self, house: House, loop: asyncio.AbstractEventLoop, folder: Path) -> None:
        self.house = house
        self.loop = loop
        self.upcall = Program(folder / "home")
        self.upcall.environment |= {"UPCALL_URL": house.url, "UPCALL_TOKEN": house.secrets["ana"]}

    @property
    def runs(self) -> MemoryRuns:
        return self.house.runs

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(TIMEOUT)

    def begin(self, task: str = "Fix the flaky test") -> str:
        """The number of a run that was started."""
        done = self.upcall("run", "scripted", task, "--cwd", "/srv/shop")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, run: str, **body: Any) -> dict[str, Any]:
        """What a run asks."""
        return self.do(self._ask(int(run), body or CHOICE))

    def move(self, run: str, **changes: Any) -> None:
        """Let something become of a run, which the log then tells."""
        self.do(self.runs.become(int(run), **changes))
        self.do(self.house.store.record(Happening(type="run_changed", at=0.0, data={"run": int(run)})))

    def write(self, run: str, *texts: str) -> None:
        """Let a run write something."""
        self.do(self.runs.write(int(run), *texts))

    async def _ask(self, run: int, body: dict[str, Any]) -> dict[str, Any]:
        name = f"of-run-{run}"
        self.house.access.lend(digest(name), Caller(name="scripted", role=Role.AGENT, run=run))
        self.house.secrets[name] = name
        return await self.house.asked(name, **body)


@contextmanager
def an_office(folder: Path) -> Iterator[Office]:
    """Opened on a thread of its own, and closed again."""
    ready: list[Office] = []
    opened, closing = threading.Event(), asyncio.Event()

    async def live() -> None:
        async with House.open(folder) as house, serving(house):
            ready.append(Office(house, asyncio.get_running_loop(), folder))
            opened.set()
            await closing.wait()

    thread = threading.Thread(target=lambda: uvloop.run(live()), daemon=True)
    thread.start()
    assert opened.wait(TIMEOUT)
    try:
        yield ready[0]
    finally:
        ready[0].loop.call_soon_threadsafe(closing.set)
        thread.join(TIMEOUT)


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line with these words that a process says on standard error."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line.rstrip("\n")
    raise AssertionError(f"it ended without saying {words!r}")


def rest_of(process: subprocess.Popen[str]) -> Done:
    """How it ended, and what it said since."""
    out, err = process.communicate(timeout=TIMEOUT)
    return Done(process.args, process.returncode, out, err)
