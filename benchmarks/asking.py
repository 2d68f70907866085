"""500 agents that ask for half an hour: whether memory, descriptors, threads, latency and the log of a daemon stay flat.

Each agent blocks in a call of its own, is answered after some seconds, and asks again. What is held in the first third, while caches
fill, is left out: the second third is compared with the last.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.bench import Bench, allow_many_files, median, percentile, resident
from benchmarks.client import Person
from benchmarks.daemon import Daemon
from benchmarks.peer import Peer
from benchmarks.report import Figure, Target

AGENTS, SECONDS = 500, 1800.0
PEOPLE = 8
THINKING = (1.0, 5.0)
"""Seconds between a question and its answer, at least and at most."""

SAMPLES = 90
FLAT = Target(factor=1.1)
ABOUT_FLAT = Target(factor=1.5)
"""For what depends on the machine's other work."""


class Sample(NamedTuple):
    """A moment of the daemon."""

    memory: float
    descriptors: int
    threads: int
    latency: float
    logged: int
    cycles: int


class Crowd:
    """Agents that ask, and people who answer them."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._people: asyncio.Queue[Person] = asyncio.Queue()
        self.latencies: list[float] = []
        self.cycles = 0

    async def hire(self) -> None:
        """Let people come."""
        for _ in range(PEOPLE):
            self._people.put_nowait(await Person.at(self._daemon))

    async def dismiss(self) -> None:
        """Let them go."""
        while not self._people.empty():
            self._people.get_nowait().close()
        # A connection that was aborted is gone with the next turn of the loop.
        await asyncio.sleep(0)

    async def agent(self, number: int, until: float) -> None:
        """Ask until the time is over, and once at least."""
        chance = random.Random(number)
        peer = await Peer.at(self._daemon, f"soak-{number}")
        while True:
            opened, reply = peer.call(f"soak-{number}", f"Which cache does service {number} use?")
            name = await opened
            await asyncio.sleep(chance.uniform(*THINKING))
            person = await self._people.get()
            began = time.perf_counter()
            await person.answer(name, "Redis")
            self._people.put_nowait(person)
            await reply
            self.latencies.append((peer.arrived - began) * 1000)
            self.cycles += 1
            if time.monotonic() >= until:
                break
        peer.close()


def sample(daemon: Daemon, crowd: Crowd) -> Sample:
    """How the daemon stands now; the latencies since the last time are taken."""
    taken, crowd.latencies = crowd.latencies, []
    proc = Path(f"/proc/{daemon.pid}")
    return Sample(
        memory=resident(daemon.pid),
        descriptors=sum(1 for _ in (proc / "fd").iterdir()),
        threads=sum(1 for _ in (proc / "task").iterdir()),
        latency=percentile(taken, 0.95) if taken else 0.0,
        logged=daemon.home.log_file.stat().st_size,
        cycles=crowd.cycles,
    )


async def soaked(daemon: Daemon, agents: int, seconds: float, samples: int) -> list[Sample]:
    """Keep so many agents asking, and look at the daemon so many times."""
    crowd = Crowd(daemon)
    await crowd.hire()
    until = time.monotonic() + seconds
    asking = [asyncio.create_task(crowd.agent(number, until)) for number in range(agents)]
    seen: list[Sample] = []
    for _ in range(samples):
        done, _ = await asyncio.wait(asking, timeout=seconds / samples, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        seen.append(sample(daemon, crowd))
    await asyncio.gather(*asking)
    await crowd.dismiss()
    # What was under way at the last look is answered too.
    return [*seen[:-1], seen[-1]._replace(cycles=crowd.cycles)]


def figures(seen: Sequence[Sample], agents: int, minutes: float) -> Iterator[Figure]:
    """The last third beside the second."""
    third = max(len(seen) // 3, 1)
    before, after = seen[third : 2 * third] or seen, seen[-third:]
    cycles = seen[-1].cycles
    about = f"{agents} agents asking for {minutes:g} minutes"

    def figure(what: str, unit: str, field: str, target: Target) -> Figure:
        first, last = ([float(getattr(each, field)) for each in part] for part in (before, after))
        return Figure(
            name=f"{about}: {what}",
            measured=median(last),
            limit=median(first),
            unit=unit,
            limit_name="the second third",
            repetitions=cycles,
            target=target,
            details={"most": max(last)},
        )

    yield figure("memory of the daemon, last third", "KiB", "memory", FLAT)
    yield figure("open descriptors, last third", "files", "descriptors", FLAT)
    yield figure("threads, last third", "threads", "threads", FLAT)
    yield figure("answer → agent, p95, last third", "ms", "latency", ABOUT_FLAT)
    yield Figure(
        name=f"{about}: bytes that the log grew by",
        measured=float(seen[-1].logged - seen[0].logged),
        limit=None,
        unit="B",
        target=Target(plus=64 * 1024),
        repetitions=cycles,
    )


def run(bench: Bench) -> Iterator[Figure]:
    """The figures of a whole soak."""
    allow_many_files()
    agents, seconds = bench.size(AGENTS, 20), bench.seconds(SECONDS, 6.0)
    with Daemon(bench.folder("soak")) as daemon:
        seen = uvloop.run(soaked(daemon, agents, seconds, bench.size(SAMPLES, 6)))
    yield from figures(seen, agents, seconds / 60)
