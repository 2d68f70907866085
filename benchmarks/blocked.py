"""Ten thousand agents blocked in one daemon: what each costs, whether all are held, and whether all are answered."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

import uvloop

from benchmarks.bench import Bench, allow_many_files, child, finish, median, percentile, resident, told
from benchmarks.client import Connection, Person, connect, tool_call
from benchmarks.daemon import Daemon
from benchmarks.peer import Peer
from benchmarks.probe import Probe
from benchmarks.report import Figure, Target

T = TypeVar("T")

AT_ONCE = 128
PEOPLE = 64
LEFT_FOR = 30.0
"""Seconds after which a daemon should have returned what a crowd has taken."""

PATIENCE = 60
"""Seconds after which something is lost."""
WARM_UP, WARM_UP_AT_ONCE = 2500, 32
"""Enough for every cache of fixed size to be full before memory is looked at, and few enough at once that what
they leave behind is no room for those that are counted."""


class Blocked(Protocol):
    """A call under way: its connection says when the result came, and can be closed."""

    arrived: float

    def close(self) -> None: ...


Block = Callable[[Daemon, str], Awaitable[tuple[Blocked, "asyncio.Future[bytes]"]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What became of them: how many were held, and how long each took that was answered alone and with all others."""

    held: int
    single: list[float]
    together: list[float]
    answered_in: float
    idle: float = 0.0
    """KiB that the daemon had before they came."""


async def over_mcp(daemon: Daemon, text: str) -> tuple[Connection, "asyncio.Future[bytes]"]:
    """Block over streamable HTTP."""
    connection = await connect(daemon.host, daemon.port)
    return connection, connection.send(tool_call(daemon, text))


async def through_a_pipe(daemon: Daemon, text: str) -> tuple[Peer, "asyncio.Future[bytes]"]:
    """Block on the pipe's own connection."""
    peer = await Peer.at(daemon, text)
    opened, reply = peer.call(text, text)
    await opened
    return peer, reply


def run_mcp(bench: Bench) -> Iterator[Figure]:
    """Calls over streamable HTTP."""
    yield from _figures(bench, "blocked MCP HTTP calls", over_mcp, Target(plus=40))


def run_pipes(bench: Bench) -> Iterator[Figure]:
    """Agents behind pipes."""
    yield from _figures(bench, "agents blocked through pipes", through_a_pipe, Target(plus=12))


def _figures(bench: Bench, what: str, block: Block, target: Target) -> Iterator[Figure]:
    count = crowd_of(bench)
    folder = bench.folder("blocked")
    bare = uvloop.run(_bare(count))
    with Probe(folder) as probe, Daemon(folder / "home") as daemon:
        limits = [probe.sample().sum for _ in range(bench.size(50, 5))]
        kib, went = uvloop.run(_hold(daemon, block, count, bench))
        time.sleep(bench.seconds(LEFT_FOR, 0.5))
        after = resident(daemon.pid)
    yield Figure(
        name=f"{count:,} {what}: memory each",
        measured=kib,
        limit=bare,
        unit="KiB",
        limit_name="a bare connection on asyncio",
        repetitions=count,
        target=target,
    )
    yield Figure(
        name=f"{count:,} {what}: memory of the daemon {LEFT_FOR:g} s after they left",
        measured=after / 1024,
        limit=went.idle / 1024,
        unit="MiB",
        limit_name="the same daemon before they came",
        target=Target(factor=1.5),
        details={"while they waited": (went.idle + kib * count) / 1024},
    )
    yield from outcomes(f"{count:,} {what}", count, went, limits)


def crowd_of(bench: Bench) -> int:
    """How many are blocked at once.

    Raises:
        OSError: if so many connections cannot be open.
    """
    count = bench.size(10_000, 200)
    if allow_many_files() < count + 500:
        raise OSError(f"{count} connections need a higher limit of open files: ulimit -Hn {2 * count}")
    return count


def outcomes(
    whom: str, count: int, went: Held, limits: list[float], *, answered: str = "answered", wake: str = "wake"
) -> Iterator[Figure]:
    """Whether all were held and answered, and how long the slowest of those took that were answered alone."""
    returned = len(went.single) + len(went.together)
    for name, number in {"all held": went.held, f"{answered}, none lost": returned}.items():
        yield Figure(
            name=f"{whom}: {name}",
            measured=number,
            limit=count,
            unit="",
            target=Target(factor=1, at_least=True),
        )
    yield Figure(
        name=f"{whom}: {wake} p99",
        measured=percentile(went.single, 0.99) * 1e3,
        limit=median(limits) * 1e3,
        unit="ms",
        limit_name="one idle fdatasync + one loopback round trip",
        repetitions=len(went.single),
        details={
            "p50": median(went.single) * 1e3,
            "all at once p50": median(went.together) * 1e3,
            "all at once p99": percentile(went.together, 0.99) * 1e3,
            "answered /s": len(went.together) / went.answered_in,
        },
    )


async def _bare(count: int) -> float:
    """KiB that a connection costs a process which does nothing with it."""
    echo = child("echo")
    try:
        port = int(told(echo))
        (await connect("127.0.0.1", port)).close()
        before = resident(echo.pid)
        connections = await gathered(lambda _: connect("127.0.0.1", port), count, AT_ONCE)
        await asyncio.sleep(1)
        kib = (resident(echo.pid) - before) / count
        for connection in connections:
            connection.close()
    finally:
        finish(echo)
    return kib


async def gathered(make: Callable[[int], Awaitable[T]], count: int, at_once: int) -> list[T]:
    """Make so many, a few at once."""
    turns = asyncio.Semaphore(at_once)

    async def one(number: int) -> T:
        async with turns:
            return await make(number)

    return await asyncio.gather(*[one(number) for number in range(count)])


async def _hold(daemon: Daemon, block: Block, count: int, bench: Bench) -> tuple[float, Held]:
    person = await Person.at(daemon)
    await _warm_up(daemon, block, person, bench.size(WARM_UP, 100))
    await asyncio.sleep(bench.seconds(3, 0.5))
    before = resident(daemon.pid)
    calls = await gathered(lambda number: block(daemon, f"question {number}"), count, AT_ONCE)
    async with asyncio.timeout(PATIENCE):
        waiting = 0
        while waiting < count:
            await asyncio.sleep(0.1)
            waiting = await person.waiting()
    # Long enough for each to be shown a sign of life.
    await asyncio.sleep(bench.seconds(20, 1))
    held = sum(not reply.done() for _, reply in calls)
    kib = (resident(daemon.pid) - before) / count
    open_ones = await person.open_questions()
    crowd = Crowd(calls, [open_ones[f"question {number}"] for number in range(count)])
    order = random.sample(range(count), count)
    alone = min(300, count // 4)
    single = [await crowd.wake(number, person) for number in order[:alone]]
    people = [await Person.at(daemon) for _ in range(PEOPLE)]
    began = time.perf_counter()
    together = await crowd.wake_all(order[alone:], people)
    took = time.perf_counter() - began
    for connection, _ in calls:
        connection.close()
    for each in (*people, person):
        each.close()
    return kib, Held(held=held, single=single, together=together, answered_in=took, idle=before)


class Crowd:
    """The blocked agents, and the ids of their questions."""

    def __init__(self, calls: "Sequence[tuple[Blocked, asyncio.Future[bytes]]]", names: list[str]) -> None:
        self._calls = calls
        self._names = names

    async def wake(self, number: int, by: Person) -> float:
        """Answer one of them; the seconds until its call has returned with just that answer."""
        connection, reply = self._calls[number]
        words = f"the words for {number}."
        began = time.perf_counter()
        settled = by.answer(self._names[number], words)
        returned = await reply
        await settled
        assert words.encode() in returned, returned
        return connection.arrived - began

    async def wake_all(self, order: list[int], people: list[Person]) -> list[float]:
        """Answer all of these, each person one after the other."""
        rest = iter(order)

        async def work(person: Person) -> list[float]:
            took: list[float] = []
            for number in rest:
                # One that is lost is not counted, which is what the figure is about.
                with suppress(TimeoutError, ConnectionError, AssertionError):
                    async with asyncio.timeout(PATIENCE):
                        took.append(await self.wake(number, person))
            return took

        return [took for each in await asyncio.gather(*map(work, people)) for took in each]


async def _warm_up(daemon: Daemon, block: Block, person: Person, count: int) -> None:
    for start in range(0, count, WARM_UP_AT_ONCE):
        texts = [f"warm-up {number}" for number in range(start, start + WARM_UP_AT_ONCE)]
        calls = [await block(daemon, text) for text in texts]
        open_ones: dict[str, str] = {}
        while len(open_ones) < len(texts):
            open_ones = await person.open_questions()
        for text in texts:
            await person.answer(open_ones[text], "Redis")
        for connection, reply in calls:
            await reply
            connection.close()
