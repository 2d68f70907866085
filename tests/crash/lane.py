"""`python -m tests.crash.lane ORDER`: plays rounds of scenarios on installations side by side, and prints what came of each.

A lane has a network, mounts and processes of its own where the machine allows it (`machines.ALONE`): nothing of it outlives it.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from ctypes import CDLL
from pathlib import Path
from typing import TypedDict

from tests.crash.installation import Installation, Surroundings
from tests.crash.log import Json, StuckError
from tests.crash.machines import Machine, wake_loopback
from tests.crash.oracle import check
from tests.crash.scenarios import BrokenError, Played, planned, play
from tests.postgres_server import PostgresServer, binaries
from tests.warm.daemons import WarmDaemons

PR_SET_CHILD_SUBREAPER = 36
OPTIONS = "-c max_connections=300"


class Order(TypedDict):
    """What a lane is to play: rounds by their number and how many scenarios each has."""

    seed: str
    rounds: list[tuple[int, int]]
    beside: int
    """How many installations at once."""
    wide: int
    """How many scenarios at once on each."""
    alone: bool
    """Whether the lane has namespaces of its own."""
    keep: str
    """Where to copy what tells how something went wrong."""


@contextmanager
def surroundings(*, alone: bool) -> Iterator[Surroundings]:
    """What the installations of a lane share, until the end of the block."""
    around = Surroundings()
    with ExitStack() as stack:
        if alone:
            wake_loopback()
            around.database, around.agents = Machine(1), Machine(2)
            stack.callback(around.database.end)
            stack.callback(around.agents.end)
        installed = binaries()
        if installed is not None:
            far = around.database
            around.server = (
                PostgresServer(installed, options=OPTIONS)
                if far is None
                else PostgresServer(installed, machine=far.command, listens=far.there, options=OPTIONS)
            )
            around.server.start()
            stack.callback(around.server.remove)
        os.environ["WARM_CLOCKS"] = "1"
        warm = WarmDaemons()
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "warm")
        warm.use()
        stack.callback(warm.close)
        yield around


def round_of(order: Order, number: int, count: int, around: Surroundings) -> Json:
    """Play some scenarios on one installation, and return what came of it."""
    seed = f"{order['seed']}.{number}"
    server = around.server if number % 2 else None
    database = ""
    if server is not None:
        with around.restarting:
            database = server.database(seed)
        if around.database is not None:
            database = server.remote_address(database)
    scenarios: list[Played] = []
    with tempfile.TemporaryDirectory(prefix=f"crash-{number}-") as path:
        there = Installation(Path(path), seed, around, database)
        problem = ""
        try:
            there.start()
            _play_all(there, seed, count, order["wide"], scenarios)
            check(there, scenarios, disturbed=any(played.faults for played in scenarios))
        except (BrokenError, StuckError) as error:
            problem = str(error)
        except Exception:  # noqa: BLE001 - reported with its round, and the others go on
            problem = traceback.format_exc()
        finally:
            if problem and order["keep"]:
                there.keep(Path(order["keep"]) / seed)
            there.end()
    return {
        "round": number,
        "store": "sqlite" if server is None else "postgresql",
        "scenarios": len(scenarios),
        "faults": Counter(fault.name for played in scenarios for fault in played.faults.values()),
        "points": Counter(point for played in scenarios for point in played.faults),
        "problem": problem,
    }


def _play_all(there: Installation, seed: str, count: int, wide: int, scenarios: list[Played]) -> None:
    """Play several at once; each slot has its own agent, which it keeps."""

    def in_slot(slot: int) -> None:
        for number in range(slot, count, wide):
            name = f"q{seed.replace('.', '-')}-{number}"
            played, chance = planned(there, name, f"{seed}.{number}", slot)
            scenarios.append(played)
            play(there, played, slot, chance)

    with ThreadPoolExecutor(wide) as slots:
        for done in [slots.submit(in_slot, slot) for slot in range(wide)]:
            done.result()


def play_rounds(order: Order) -> None:
    """Play every round of an order, several side by side."""
    for name in [name for name in os.environ if name.startswith("UPCALL_")]:
        del os.environ[name]
    with surroundings(alone=order["alone"]) as around, ThreadPoolExecutor(order["beside"]) as rounds:
        playing = [rounds.submit(round_of, order, number, count, around) for number, count in order["rounds"]]
        for played in as_completed(playing):
            sys.stdout.write(json.dumps(played.result()) + "\n")
            sys.stdout.flush()


def main(order: Order) -> int:
    """Play in a child; this process takes in the orphans, as process 1 of a namespace has to, and says what all of it has cost."""
    CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        play_rounds(order)
        sys.stdout.flush()
        os._exit(0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    status = None
    try:
        while status is None:
            pid, ended = os.wait()
            status = ended if pid == child else None
    finally:
        _leave_nobody()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(json.dumps({"cpu": spent.ru_utime + spent.ru_stime}) + "\n")
    return os.waitstatus_to_exitcode(status)


def _leave_nobody() -> None:
    """Kill what is left, and what becomes an orphan by that."""
    while left := Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        for pid in map(int, left):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
