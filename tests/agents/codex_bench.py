"""Codex's app server at work: its process, the driver that talks to it, and a counter where people decide."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.agents.programs import CODEX, Desk, need
from upcall.agents.codex.adapter import Codex
from upcall.agents.codex.app import AppDriver
from upcall.domain.answer.outcome import Outcome
from upcall.domain.run.program import Action, Door, Finished, Noticed, Session, SessionSeen, Task, Verdict
from upcall.home.files import Home

PATIENCE = 60.0
PIPE = ("-m", "upcall", "mcp", "--wait", "block")


def door_to(home: Home) -> Door:
    """Our door, for a run that has a token of its own."""
    environment = {"UPCALL_HOME": str(home.path)}
    return Door(command=(sys.executable, *PIPE), environment=environment, url="", token="of-this-run")


def answered(*values: tuple[str, ...]) -> Outcome:
    return Outcome(
        status="answered", id="i1", ref="a1", text=f"The user answered: {values[0][0]}", answers=values
    )


@dataclass
class Asked:
    """Something that was brought to the counter, and what it was told there."""

    key: str
    what: Action | Mapping[str, object]
    said: "asyncio.Future[Outcome | Verdict]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def fields(self) -> Any:
        assert isinstance(self.what, dict)
        return self.what

    @property
    def action(self) -> Action:
        assert isinstance(self.what, Action)
        return self.what


class Counter:
    """Where a program's requests arrive. A second request under a key waits for the same word."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.visits: list[str] = []
        self._news = asyncio.Condition()

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        said = await self._brought(key, fields)
        assert isinstance(said, Outcome)
        return said

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        said = await self._brought(key, action)
        assert isinstance(said, Verdict)
        return said

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        return await self.approve(Action(tool="plan", input={"plan": plan}), key, wait=wait)

    async def visit(self, number: int) -> Asked:
        """What the visitor of that number brought, once there was one; the first is 1."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.visits) >= number)
        return next(each for each in self.asked if each.key == self.visits[number - 1])

    async def _brought(self, key: str, what: Action | Mapping[str, object]) -> Outcome | Verdict:
        known = next((each for each in self.asked if each.key == key), None)
        if known is None:
            known = Asked(key, what)
            self.asked.append(known)
        assert known.what == what
        async with self._news:
            self.visits.append(key)
            self._news.notify_all()
        return await asyncio.shield(known.said)


class ProcessConsole:
    """The lines that a process writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def read(self) -> str | None:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode() or None

    async def write(self, line: str) -> None:
        raise AssertionError("nothing is to be written to the app server's standard input")


class Bench:
    """One process of the app server, as a supervisor would have it."""

    def __init__(self, desk: Desk, told: Task | Session, message: str | None = None) -> None:
        need(CODEX)
        self.counter = Counter()
        self.noticed: list[Noticed] = []
        self._told = told
        self._message = message
        self._desk = desk
        self._errors = Path(desk.home) / "errors.log"

    async def __aenter__(self) -> Self:
        agent = Codex()
        command = (
            agent.start(self._told)
            if isinstance(self._told, Task)
            else agent.resume(self._told, self._message)
        )
        environment = {**self._desk.environment, **command.environment}
        with self._errors.open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                str(self._desk.home.parent / "bin" / command.argv[0]),
                *command.argv[1:],
                cwd=command.cwd,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self.console = ProcessConsole(self.process)
        self.take_over()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.let_go()
        await self.end(signal.SIGTERM)

    def take_over(self) -> None:
        """Have a new driver talk to it, as a daemon does that finds the process running."""
        driver = Codex().driver(self._told, self._message)
        assert isinstance(driver, AppDriver)
        self.driver = driver
        self.driving = asyncio.create_task(driver.drive(self.console, self.counter, self.noticed.append))

    async def let_go(self) -> None:
        """Stop talking to it, as a daemon does that ends."""
        self.driving.cancel()
        await asyncio.gather(self.driving, return_exceptions=True)

    async def end(self, number: signal.Signals) -> None:
        """End the process with all that it has started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return
        await self.process.wait()

    async def finish(self) -> Finished:
        """Wait for the end of its work."""
        async with asyncio.timeout(PATIENCE):
            await self.driving
        ends = [each for each in self.noticed if isinstance(each, Finished)]
        assert len(ends) == 1, f"{self.noticed}\n{self._errors.read_text()}"
        return ends[0]

    @property
    def session(self) -> str:
        """The thread that it works in."""
        return next(each.id for each in self.noticed if isinstance(each, SessionSeen))
