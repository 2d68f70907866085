"""Programs that are talked to: a process to talk to, and a desk where their questions are answered by a script."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from upcall.domain.outcome import Outcome
from upcall.domain.program import Action, Command, Noticed, Verdict

T = TypeVar("T")
PATIENCE = 60.0
LINE_BYTES = 50_000_000


class Process:
    """A running program, as a console."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._read: list[str] = []
        self.written: list[str] = []
        self.ended = False

    async def read(self) -> str | None:
        """The next line that it writes."""
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        if not line:
            self.ended = True
            return None
        self._read.append(line)
        return line.removesuffix("\n")

    async def write(self, line: str) -> None:
        """Give it a line."""
        assert self._process.stdin is not None
        self.written.append(line)
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    def report(self) -> str:
        """Everything that was said, for whoever has to find out what went wrong."""
        return "\n".join(("to it:", *self.written, "from it:", *self._read))

    def kill(self) -> None:
        """End it, with everything that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@asynccontextmanager
async def started(command: Command, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """A program that is ended afterwards."""
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        cwd=command.cwd,
        env={**environment, **command.environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LINE_BYTES,
        start_new_session=True,
    )
    running = Process(process)
    try:
        async with asyncio.timeout(PATIENCE):
            yield running
    except TimeoutError:
        raise AssertionError(running.report()) from None
    finally:
        running.kill()
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


class ScriptedDesk:
    """Where a program's questions go: each is kept, and answered as the test says."""

    def __init__(
        self,
        decide: Callable[[Action], Verdict] = lambda _: Verdict(allowed=False),
        answers: Sequence[Sequence[Sequence[str]] | str] = (),
    ) -> None:
        self.actions: list[Action] = []
        self.asked: list[Mapping[str, object]] = []
        self.keys: list[str] = []
        self._decide = decide
        self._answers = list(answers)

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        """The next answer; a word instead of one is how asking ended."""
        self.asked.append(fields)
        self.keys.append(key)
        said = self._answers.pop(0)
        if isinstance(said, str):
            return Outcome(status=said, id="1", ref="a1", text=said)
        values = tuple(tuple(each) for each in said)
        return Outcome(status="answered", id="1", ref="a1", text="answered", answers=values)

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        """The test's verdict."""
        self.actions.append(action)
        self.keys.append(key)
        return self._decide(action)


class Notes:
    """All that was noticed."""

    def __init__(self) -> None:
        self.noticed: list[Noticed] = []

    def __call__(self, noticed: Noticed) -> None:
        """Take note."""
        self.noticed.append(noticed)

    def of(self, kind: type[T]) -> list[T]:
        """Those of one kind."""
        return [each for each in self.noticed if isinstance(each, kind)]
