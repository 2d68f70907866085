"""Programs that are talked to: a process with a console that can be taken over, and desks that a test or a script answers."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from upcall.domain.answer.outcome import Outcome
from upcall.domain.run.program import Action, Command, Noticed, Verdict

PATIENCE = 100.0
T = TypeVar("T")


class Talker:
    """A process; every console on it reads its output from the first line on."""

    def __init__(self, command: Command, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=command.cwd,
            env={**environment, **command.environment},
            start_new_session=True,
        )
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Condition()
        self._lines: list[str | None] = []
        self.written: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def ended(self) -> bool:
        """Whether it has closed its mouth for good."""
        return None in self._lines

    def console(self) -> "Console":
        """A reader of it."""
        return Console(self)

    async def line(self, number: int) -> str | None:
        """A line of its output, once it is there."""
        async with self._news:
            await self._news.wait_for(lambda: len(self._lines) > number)
        return self._lines[number]

    async def write(self, line: str) -> None:
        """Give it a line to read."""
        assert self._process.stdin is not None
        self.written.append(line)
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def report(self) -> str:
        """Everything that was said, for the message of a failed test."""
        return "\n".join(("to it:", *self.written, "from it:", *filter(None, self._lines)))

    def kill(self) -> None:
        """End it and everything that it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it was faster

    async def close(self) -> None:
        """Leave nothing behind."""
        self.kill()
        await asyncio.to_thread(self._process.wait, PATIENCE)
        await asyncio.to_thread(self._reader.join, PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            asyncio.run_coroutine_threadsafe(self._heard(line.rstrip("\n")), self._loop)
        asyncio.run_coroutine_threadsafe(self._heard(None), self._loop)

    async def _heard(self, line: str | None) -> None:
        async with self._news:
            self._lines.append(line)
            self._news.notify_all()


class Console:
    """One reader of a process."""

    def __init__(self, talker: Talker) -> None:
        self._talker = talker
        self._number = 0

    async def read(self) -> str | None:
        line = await self._talker.line(self._number)
        self._number += line is not None
        return line

    async def write(self, line: str) -> None:
        await self._talker.write(line)


@asynccontextmanager
async def talking(command: Command, environment: Mapping[str, str]) -> AsyncIterator[Talker]:
    """A process that is ended afterwards."""
    talker = Talker(command, environment)
    try:
        async with asyncio.timeout(PATIENCE):
            yield talker
    except TimeoutError:
        raise AssertionError(talker.report()) from None
    finally:
        await talker.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Something that waits for a person: questions, or an action."""

    key: str
    about: Mapping[str, object] | Action
    reply: "asyncio.Future[Outcome | Verdict]" = field(default_factory=asyncio.Future)

    def answer(self, *values: tuple[str, ...]) -> None:
        self.reply.set_result(Outcome(status="answered", id="i", ref="a1", text="", answers=values))

    def decline(self, words: str) -> None:
        self.reply.set_result(Outcome(status="rejected", id="i", ref="a1", text=words))

    def decide(self, *, allowed: bool, reason: str = "") -> None:
        self.reply.set_result(Verdict(allowed=allowed, reason=reason))


class OpenDesk:
    """Hands everything that is asked to the test, which replies."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()

    async def next(self) -> Asked:
        """What is asked next."""
        return await self._asked.get()

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        outcome = await self._put(Asked(key=key, about=fields))
        assert isinstance(outcome, Outcome)
        return outcome

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        verdict = await self._put(Asked(key=key, about=action))
        assert isinstance(verdict, Verdict)
        return verdict

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        return await self.approve(Action(tool="plan", input={"plan": plan}), key, wait=wait)

    async def _put(self, asked: Asked) -> Outcome | Verdict:
        await self._asked.put(asked)
        return await asked.reply


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

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        """The test's verdict."""
        return await self.approve(Action(tool="plan", input={"plan": plan}), key, wait=wait)


class Notes:
    """All that was noticed."""

    def __init__(self) -> None:
        self.noticed: list[Noticed] = []

    def __call__(self, noticed: Noticed) -> None:
        self.noticed.append(noticed)

    def of(self, kind: type[T]) -> list[T]:
        return [each for each in self.noticed if isinstance(each, kind)]
