"""A program with a framework that asks, is killed, and is started again after the person has decided."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import anyio
from anyio.abc import Process

from tests.agents.model_server import Model
from tests.agents.programs import Desk
from tests.client.program import Crew
from tests.dispatch.scripted_channel import ScriptedChannel
from tests.docs.fences import fences
from upcall.client.outcome import Inquiry
from upcall.domain.channel.showing import Inbound

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv/frameworks/bin/python"
OLDER_MCP = ROOT / ".venv/frameworks-older-mcp/bin/python"
"""Where the libraries are that hold the MCP SDK below ours, and Upcall without its dependencies."""

PAGE = ROOT / "docs/frameworks.md"
PATIENCE = 100
"""Seconds; loading a framework takes a while on a machine that has other things to do."""


class Story:
    """The program of a page, where it works, and who is about."""

    def __init__(self, crew: Crew, model: Model, desk: Desk) -> None:
        self.crew = crew
        self.model = model
        self.work = desk.work
        self.python = PYTHON
        self.channel = ScriptedChannel()
        self.environment = desk.environment | {
            "PYTHONPATH": str(ROOT / "src"),
            "UPCALL_URL": crew.house.url,
            "UPCALL_TOKEN": crew.house.secrets["builder"],
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "not-a-real-key",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GOOGLE_API_KEY": "not-a-real-key",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_STORAGE_DIR": "crew",
            "PYDANTIC_AI_NO_BANNER": "1",
        }
        self._started: list[Process] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, crew: Crew, model: Model, desk: Desk) -> AsyncIterator[Self]:
        """A story whose programs end with it."""
        story = cls(crew, model, desk)
        try:
            yield story
        finally:
            for process in story._started:
                with anyio.CancelScope(shield=True):
                    await end(process)

    @property
    def removed(self) -> list[str]:
        """What the tool has done, line by line."""
        done = self.work / "removed.txt"
        return done.read_text("utf-8").splitlines() if done.exists() else []

    def write(self, test: str) -> None:
        """Put the program of the page to work that this test runs."""
        (found,) = [each for each in fences([PAGE]) if test in each.said("run by")]
        (self.work / "program.py").write_text(found.content, "utf-8")

    async def start(self, program: str | Path = "program.py") -> Process:
        """Start the program."""
        return await self.run([self.python, program])

    async def run(self, command: Sequence[str | Path]) -> Process:
        """Start a command that ends with the story."""
        with (self.work / "said.txt").open("ab") as said:
            process = await anyio.open_process(
                command, cwd=self.work, env=self.environment, stdout=said, stderr=said
            )
        self._started.append(process)
        return process

    async def served(self, server: Path) -> int:
        """Start a server beside the program; the port that it says it has."""
        process, port = await self.start(server), self.work / "port.txt"
        with anyio.fail_after(PATIENCE):
            while not port.exists():
                assert process.returncode is None, self.said
                await anyio.sleep(0.02)
        return int(port.read_text("utf-8"))

    @property
    def said(self) -> str:
        """What its processes have printed."""
        return (self.work / "said.txt").read_text("utf-8")

    async def asked(self, process: Process) -> Inquiry:
        """The question that the program waits for."""
        with anyio.fail_after(PATIENCE):
            # The daemon tells no one how many calls wait.
            while not self.crew.house.broker.waiting:
                assert process.returncode is None, self.said
                await anyio.sleep(0.02)
        (inquiry,) = [each async for each in self.crew.ana.find(state="open")]
        return inquiry

    async def both_asked(self, process: Process) -> list[Inquiry]:
        """The two questions that the program waits for."""
        with anyio.fail_after(PATIENCE):
            while len(both := [each async for each in self.crew.ana.find(state="open")]) < 2:
                assert process.returncode is None, self.said
                await anyio.sleep(0.02)
        return both

    async def finished(self, process: Process) -> str:
        """What the program has printed at its end."""
        with anyio.fail_after(PATIENCE):
            code = await process.wait()
        assert code == 0, self.said
        return self.said

    async def killed_while_asking(self) -> Inquiry:
        """The question of a program that was killed while a person decided."""
        process = await self.start()
        inquiry = await self.asked(process)
        await end(process)
        assert self.removed == []
        return inquiry

    async def killed_between_two_calls(self) -> None:
        """Let a program be killed that has the yes to one of two calls of a turn; the other is allowed afterwards."""
        process = await self.start()
        first, second = await self.both_asked(process)
        await self.crew.said(first["ref"], "Approve")
        with anyio.fail_after(PATIENCE):
            # The daemon tells no one that an answer has arrived, except those who look.
            while not (await self.crew.ana.get(first["id"]))["answer"]["collected_at"]:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        await end(process)
        await self.crew.said(second["ref"], "Approve")

    async def answered_in_the_channel(self, inquiry: Inquiry, words: str) -> None:
        """Let the person answer where they were shown the question, which is in a channel."""
        await self.channel.until(lambda: bool(self.channel.shown) and self.channel.inbox is not None)
        assert self.channel.inbox is not None
        said = Inbound(id=f"reply-{inquiry['id']}", user="U1", place="C1", inquiry=inquiry["id"], words=words)
        heard = await self.channel.inbox.receive(said)
        assert heard.accepted, heard.line

    async def who_decided(self, inquiry: Inquiry) -> tuple[str, str]:
        """The person who decided, and where, as the inquiry's record has it after all is done."""
        answer = (await self.crew.ana.get(inquiry["ref"]))["answer"]
        assert answer["collected_at"], "the answer has arrived"
        return answer["by"], answer["via"]

    async def goes_on(self) -> str:
        """What the program says, started again."""
        return await self.finished(await self.start())


async def end(process: Process) -> None:
    """Kill with SIGKILL: the program cannot do anything about it."""
    if process.returncode is None:
        process.kill()
    await process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            await pipe.aclose()
