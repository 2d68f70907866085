"""The child's side of every candidate: agents that ask and wait, and a person in another process who answers.

The parent speaks JSON in lines. An answer is the time at which the person sent it, by the clock that all processes of a
machine share, so that the agent who reads it knows how long it took. This module does not know what it measures.
"""

import asyncio
import itertools
import json
import random
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]
Shown = Callable[[str], None]
"""Told once a question is asked: by which name the person finds it."""

_LINE = 16 * 1024 * 1024


class Heard(NamedTuple):
    """An answer, and when the agent's code had it."""

    text: str
    at: float


class Agents(Protocol):
    """Agents of one kind in one process."""

    async def start(self, many: int) -> None:
        """Have so many agents ready to ask."""

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        """Ask as one of them and wait. The same key again is the same question, after a crash of this process too."""
        ...

    async def stop(self) -> None:
        """End what `start` started."""


class Person(Protocol):
    """A person at what the candidate offers people."""

    async def sees(self, handle: str) -> str:
        """Wait until the question can be answered; by which name."""
        ...

    async def answer(self, handle: str, text: str) -> None:
        """Answer it."""

    async def open_questions(self) -> int:
        """How many questions wait for an answer, as far as a person can tell."""
        ...


def heard(text: str) -> Heard:
    """An answer that the agent has now."""
    return Heard(text, time.monotonic())


def time_in(text: str) -> str:
    """The answer itself within what a tool makes of it."""
    found = re.search(r"\d+\.\d+", text)
    if found is None:
        raise ValueError(f"no answer in {text!r}")
    return found[0]


def say(**words: object) -> None:
    """One line to the parent."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(json.dumps(words) + "\n")
    sys.__stdout__.flush()


async def _orders() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    return reader


class Desk:
    """The person's process: answers what the agents announce over a loopback port, each after its pause."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._failed: list[str] = []
        self._seen = 0
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Say the port, then do as the parent says until it closes our input."""
        orders = await _orders()
        server = await asyncio.start_server(self._announced, "127.0.0.1", 0, limit=_LINE)
        say(port=server.sockets[0].getsockname()[1])
        while line := await orders.readline():
            order: Json = json.loads(line)
            if order["do"] == "open":
                say(open=await self._person.open_questions())
            elif order["do"] == "answer":
                say(answered=await self._answered(order["handle"], 0, order["patience"]))
            else:
                say(failed=self._failed, seen=self._seen)
        server.close()

    async def _announced(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            told: Json = json.loads(line)
            task = asyncio.create_task(self._later(told["handle"], told["pause"]))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        writer.close()

    async def _later(self, handle: str, pause: float | None) -> None:
        await self._answered(handle, pause)

    async def _answered(self, handle: str, pause: float | None, patience: float | None = None) -> bool:
        """Answer after a pause; without one, only look."""
        try:
            async with asyncio.timeout(patience):
                name = await self._person.sees(handle)
            self._seen += 1
            if pause is None:
                return False
            await asyncio.sleep(pause)
            await self._person.answer(name, repr(time.monotonic()))
        except Exception as problem:  # noqa: BLE001  # a refusal is a result: it is counted and told
            self._failed.append(f"{type(problem).__name__}: {problem}"[:300])
            return False
        return True


class Crew:
    """The agents' process: cycles, crowds that wait, and single questions, as the parent says."""

    def __init__(self, agents: Agents, prefix: str) -> None:
        self._agents = agents
        self._numbers = itertools.count()
        self._prefix = prefix
        self._pauses = random.Random(prefix)
        self._link: asyncio.StreamWriter | None = None
        self._asking: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Do as the parent says until it closes our input."""
        orders = await _orders()
        while line := await orders.readline():
            order: Json = json.loads(line)
            if order["do"] == "start":
                if self._link is None:
                    _, self._link = await asyncio.open_connection("127.0.0.1", order["port"])
                await self._agents.start(order["many"])
                say(started=order["many"])
            elif order["do"] == "cycles":
                say(**await self._cycles(order))
            elif order["do"] == "wait":
                for agent in range(*order["agents"]):
                    self._spawn(self._held(agent))
            else:
                self._spawn(self._one(order["key"]))
        await self._agents.stop()

    def _announce(self, handle: str, pause: float | None) -> None:
        assert self._link is not None
        self._link.write(json.dumps({"handle": handle, "pause": pause}).encode() + b"\n")

    def _key(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    async def _cycles(self, order: Json) -> Json:
        wakes: list[float] = []
        failed: list[str] = []
        began = last = time.monotonic()
        end = began + order["seconds"]

        def shown(handle: str) -> None:
            self._announce(handle, self._pauses.uniform(*order["pause"]))

        async def work(agent: int) -> None:
            nonlocal last
            while time.monotonic() < end and len(wakes) + len(failed) < order["most"]:
                try:
                    text, at = await self._agents.ask(agent, self._key(), shown)
                except Exception as problem:  # noqa: BLE001  # what a candidate does not stand is a result
                    failed.append(f"{type(problem).__name__}: {problem}"[:300])
                else:
                    wakes.append(at - float(text))
                last = time.monotonic()

        tasks = [asyncio.create_task(work(agent)) for agent in range(order["many"])]
        _, late = await asyncio.wait(tasks, timeout=order["seconds"] + order["grace"])
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return {"wakes": wakes, "seconds": last - began, "failed": failed, "late": len(late)}

    async def _held(self, agent: int) -> None:
        """Wait for an answer that does not come; the person only looks."""
        await self._agents.ask(agent, self._key(), lambda handle: self._announce(handle, None))

    async def _one(self, key: str) -> None:
        try:
            said = await self._agents.ask(0, key, lambda handle: say(asked=handle))
        except Exception as problem:  # noqa: BLE001  # that a wait does not survive is what is looked for
            say(failed=f"{type(problem).__name__}: {problem}"[:300])
        else:
            say(heard=said.text)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)


def main(agents: Callable[[Json], Agents], person: Callable[[Json], Person]) -> None:
    """Be one of the two, as the command line says: `agents` or `person`, and the place in JSON."""
    role, place = sys.argv[1], json.loads(sys.argv[2])
    # What a library prints is not for the parent.
    sys.stdout = sys.stderr
    if role == "agents":
        asyncio.run(Crew(agents(place), place["prefix"]).serve())
    else:
        asyncio.run(Desk(person(place)).serve())
