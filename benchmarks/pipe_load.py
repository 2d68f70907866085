"""A child process with the agents of many `upcall mcp`, and the people who answer them: a load, not a part of what is measured.

It gets its order as JSON in an argument, starts the processes once, and asks for as many seconds as each line of its input says.
It is made of callbacks, without a task for any agent: it shares the machine with what is measured.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import cast

import uvloop
from typing_extensions import override

from benchmarks.bench import cpu_nanoseconds, environment, percentile
from benchmarks.client import Json, asking, body_of, complete, request

PEOPLE = 16
LOOK_EVERY = 0.01
"""Seconds between two looks at the log: a person does not answer faster."""

PATIENCE = 30.0
"""Seconds in which each answer has to be collected."""

_ID = b'"id":"'
_ID_LENGTH = 26
_HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


class Agent(asyncio.Protocol):
    """An agent and its `upcall mcp`, with one call at a time."""

    def __init__(self, number: int, order: Json, replied: Callable[["Agent", bytes], None]) -> None:
        self.process = subprocess.Popen(
            order["command"],
            bufsize=0,
            env=environment(**order["environment"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        self._input = self.process.stdin.fileno()
        self._name = f"agent {number}"
        self._replied = replied
        self._calls = 0
        self._rest = b""
        self.began = 0.0

    async def start(self) -> None:
        """Read what the process writes, and say hello."""
        await asyncio.get_running_loop().connect_read_pipe(lambda: self, self.process.stdout)
        self._say(_HELLO)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self) -> None:
        """Ask something that was not asked before."""
        self._calls += 1
        self.began = time.perf_counter()
        params = {"name": "ask_human", "arguments": asking(f"question {self._calls} of {self._name}")}
        self._say({"jsonrpc": "2.0", "id": self._calls, "method": "tools/call", "params": params})

    @override
    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._replied(self, line)

    def stop(self) -> None:
        """End the process, as an agent does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)

    def _say(self, message: Json) -> None:
        os.write(self._input, json.dumps(message).encode() + b"\n")


class Browser(asyncio.Protocol):
    """A connection of a person, with one request at a time."""

    def __init__(self, replied: Callable[["Browser", bytes], None]) -> None:
        self._replied = replied
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def send(self, sent: bytes) -> None:
        assert self._transport is not None
        self._transport.write(sent)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._rest += data
        if complete(self._rest):
            whole, self._rest = self._rest, b""
            self._replied(self, whole)


class People:
    """Follow the log, answer every question that they see, and note what was collected."""

    def __init__(self, place: Json) -> None:
        self._place = place
        self._free: list[Browser] = []
        self._reader: Browser | None = None
        self._open: deque[bytes] = deque()
        self._after = 0
        self._head = request("POST", "", place["address"], place["person"], {"text": "Redis"})[6:]
        self.answered: dict[bytes, float] = {}
        """When the answer to an inquiry was sent."""
        self.collected = 0
        self._expected = 0
        self._complete = asyncio.Event()

    async def start(self) -> None:
        """Connect: between two rounds a daemon may close what is idle."""
        loop = asyncio.get_running_loop()
        host, port = self._place["host"], self._place["port"]
        for _ in range(PEOPLE):
            _, browser = await loop.create_connection(lambda: Browser(self._settled), host, port)
            self._free.append(browser)
        _, reader = await loop.create_connection(lambda: Browser(self._read), host, port)
        self._reader = reader
        self._look(reader)

    def stop(self) -> None:
        """Hang up."""
        for browser in (*self._free, self._reader):
            if browser is not None:
                browser.close()
        self._free, self._reader = [], None

    async def have_seen(self, collected: int) -> None:
        """Return once so many answers are on record as collected."""
        self._expected = collected
        self._complete.clear()
        if self.collected < collected:
            await self._complete.wait()

    def _look(self, reader: Browser) -> None:
        if reader is not self._reader:
            return
        path = f"/v1/events?after={self._after}&wait=30&limit=1000"
        reader.send(request("GET", path, self._place["address"], self._place["person"]))

    def _read(self, reader: Browser, response: bytes) -> None:
        page = body_of(response)
        self._after = page["next_after"]
        for event in page["items"]:
            if event["type"] == "asked":
                self._open.append(event["inquiry"].encode())
            elif event["type"] == "collected":
                self.collected += 1
        if self.collected >= self._expected:
            self._complete.set()
        self._answer()
        asyncio.get_running_loop().call_later(LOOK_EVERY, self._look, reader)

    def _settled(self, browser: Browser, response: bytes) -> None:
        if not response.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"refused: {response[:400]!r}")
        self._free.append(browser)
        self._answer()

    def _answer(self) -> None:
        while self._open and self._free:
            name = self._open.popleft()
            self.answered[name] = time.perf_counter()
            self._free.pop().send(b"POST /v1/inquiries/" + name + b"/answer " + self._head)


class Load:
    """All agents of one order, and the people where the processes do not reply by themselves."""

    def __init__(self, order: Json) -> None:
        self._people = People(order["place"]) if order["place"] else None
        self.agents = [Agent(number, order, self._replied) for number in range(order["pipes"])]
        self._until = 0.0
        self._busy = 0
        self._idle = asyncio.Event()
        self._wakes: list[float] = []
        self._cycles: list[float] = []

    async def start(self) -> None:
        """Until each process has replied to its hello."""
        self._busy = len(self.agents)
        for agent in self.agents:
            await agent.start()
        await self._idle.wait()

    async def run(self, seconds: float) -> Json:
        """Ask for so long: how many cycles there were a second, and what each took of the processors."""
        self._wakes, self._cycles = [], []
        if self._people is not None:
            await self._people.start()
        collected = 0 if self._people is None else self._people.collected
        used = cpu_nanoseconds(os.getpid()), sum(cpu_nanoseconds(each.process.pid) for each in self.agents)
        began = time.perf_counter()
        self._until = began + seconds
        self._busy = len(self.agents)
        self._idle.clear()
        for agent in self.agents:
            agent.ask()
        await self._idle.wait()
        took = time.perf_counter() - began
        cycles = len(self._cycles)
        if self._people is not None:
            async with asyncio.timeout(PATIENCE):
                await self._people.have_seen(collected + cycles)
            self._people.stop()
        return {
            "cycles": cycles,
            "rate": cycles / took,
            "p50": percentile(self._cycles, 0.5),
            "wake p50": percentile(self._wakes or [0.0], 0.5),
            "wake p99": percentile(self._wakes or [0.0], 0.99),
            "load cpu": (cpu_nanoseconds(os.getpid()) - used[0]) / 1e9 / cycles,
            "pipes cpu": (sum(cpu_nanoseconds(each.process.pid) for each in self.agents) - used[1])
            / 1e9
            / cycles,
        }

    def stop(self) -> None:
        for agent in self.agents:
            agent.stop()

    def _replied(self, agent: Agent, line: bytes) -> None:
        now = time.perf_counter()
        if agent.began:
            if b'"result"' not in line or b'"isError":true' in line:
                raise ConnectionError(f"no answer: {line[:400]!r}")
            self._cycles.append(now - agent.began)
            if self._people is not None:
                start = line.index(_ID) + len(_ID)
                self._wakes.append(now - self._people.answered.pop(line[start : start + _ID_LENGTH]))
        if now < self._until:
            agent.ask()
            return
        self._busy -= 1
        if not self._busy:
            self._idle.set()


async def main(order: Json) -> None:
    """Serve lines until there are no more."""
    load = Load(order)
    try:
        await load.start()
        print(json.dumps("ready"), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await load.run(float(line))), flush=True)
    finally:
        load.stop()


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[1])))
