"""From a person's answer sent to the blocked agent's call returned, durable, with everything real in between."""

from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter

import anyio
import uvloop

from benchmarks.bench import PAUSE, Bench
from benchmarks.client import Person, connect, tool_call
from benchmarks.daemon import Daemon
from benchmarks.peer import Peer
from benchmarks.probe import Probe, Sample
from benchmarks.report import Figure, Target
from benchmarks.store_wake import wake_figure

WARM_UP = 5
Wakes = tuple[list[Sample], list[float]]


def run(bench: Bench) -> Iterator[Figure]:
    """One wake-up at a time, each beside its limit."""
    folder, count = bench.folder("wake"), bench.size(200, 15)
    with Probe(folder) as probe, Daemon(folder / "home") as daemon:
        limits, wakes = uvloop.run(over_http(daemon, probe, count))
        yield wake_figure(
            "answer sent over HTTP → blocked MCP call returned, p50", limits, wakes, Target(factor=6)
        )
        limits, wakes = uvloop.run(_through_a_pipe(daemon, probe, count))
        yield wake_figure("answer sent over HTTP → call through the pipe returned, p50", limits, wakes, None)


async def _repeated(probe: Probe, count: int, wake: Callable[[int], Awaitable[float]]) -> Wakes:
    limits: list[Sample] = []
    wakes: list[float] = []
    for number in range(count + WARM_UP):
        limits.append(probe.sample())
        wakes.append(await wake(number))
    return limits[WARM_UP:], wakes[WARM_UP:]


async def over_http(daemon: Daemon, probe: Probe, count: int) -> Wakes:
    agent = await connect(daemon.host, daemon.port)
    person = await Person.at(daemon)

    async def wake(number: int) -> float:
        call = agent.send(tool_call(daemon, f"question {number}"))
        inquiry = await person.next_question()
        await anyio.sleep(PAUSE)
        began = perf_counter()
        settled = person.answer(inquiry, "Redis")
        returned = await call
        assert b"Redis" in returned, returned
        await settled
        return agent.arrived - began

    return await _repeated(probe, count, wake)


async def _through_a_pipe(daemon: Daemon, probe: Probe, count: int) -> Wakes:
    agent = await Peer.at(daemon, "pipe")
    person = await Person.at(daemon)

    async def wake(number: int) -> float:
        opened, call = agent.call("pipe", f"question {number}")
        inquiry = await opened
        await anyio.sleep(PAUSE)
        began = perf_counter()
        settled = person.answer(inquiry, "Redis")
        returned = await call
        assert b"Redis" in returned, returned
        await settled
        return agent.arrived - began

    return await _repeated(probe, count, wake)
