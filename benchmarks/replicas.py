"""Ten thousand agents blocked at two daemons on one database, each answered at the daemon where it does not wait."""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence

import uvloop

from benchmarks.bench import Bench
from benchmarks.blocked import (
    AT_ONCE,
    PATIENCE,
    PEOPLE,
    Crowd,
    Held,
    crowd_of,
    gathered,
    outcomes,
    through_a_pipe,
)
from benchmarks.client import Person
from benchmarks.daemon import Daemon
from benchmarks.postgres import a_server
from benchmarks.probe import Probe
from benchmarks.report import Figure


def run(bench: Bench) -> Iterator[Figure]:
    """Two real daemons on a server of our own."""
    count = crowd_of(bench)
    folder = bench.folder("replicas")
    with a_server() as server, Probe(folder) as probe:
        address = server.database("replicas")
        limits = [probe.sample().sum for _ in range(bench.size(50, 5))]
        with (
            Daemon(folder / "here", database=address) as here,
            Daemon(folder / "there", database=address) as there,
        ):
            went = uvloop.run(_hold((here, there), count))
    whom = f"{count:,} agents blocked at 2 daemons"
    yield from outcomes(whom, count, went, limits, answered="answered at the other", wake="wake across")


async def _hold(daemons: Sequence[Daemon], count: int) -> Held:
    calls = await gathered(
        lambda number: through_a_pipe(daemons[number % 2], f"question {number}"), count, AT_ONCE
    )
    # Who answers the even ones is at the second daemon, and the other way round.
    people = [[await Person.at(daemon) for _ in range(PEOPLE // 2)] for daemon in reversed(daemons)]
    async with asyncio.timeout(PATIENCE):
        waiting = 0
        while waiting < count:
            await asyncio.sleep(0.1)
            waiting = sum([await some[0].waiting() for some in people])
    held = sum(not reply.done() for _, reply in calls)
    open_ones = await people[0][0].open_questions()
    crowd = Crowd(calls, [open_ones[f"question {number}"] for number in range(count)])
    order = random.sample(range(count), count)
    alone = min(300, count // 4)
    single = [await crowd.wake(number, people[number % 2][0]) for number in order[:alone]]
    halves = [[number for number in order[alone:] if number % 2 == half] for half in range(2)]
    began = time.perf_counter()
    woken = await asyncio.gather(*[crowd.wake_all(halves[half], people[half]) for half in range(2)])
    took = time.perf_counter() - began
    for connection, _ in calls:
        connection.close()
    for each in (*people[0], *people[1]):
        each.close()
    return Held(held=held, single=single, together=[*woken[0], *woken[1]], answered_in=took)
