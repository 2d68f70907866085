"""The faults: each is one function that does something to an installation, and returns when that is over."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Thread, Timer

from tests.crash.installation import Installation
from tests.warm.jumping_clock import AHEAD
from upcall.home.files import Home
from upcall.home.instance import stop_running

JUMPS = (-6 * 3600.0, -3600.0, -300.0, -20.0, 20.0, 300.0, 3600.0)
"""Seconds by which a clock is set. Those of one round are together less than the time in which a question can be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done, by its name, and to which home; `after` is when, and `seconds` for how long. `session` is of the run at hand."""

    name: str
    home: int
    slot: int
    session: str
    after: float
    seconds: float
    jump: float


def _kill_daemon(there: Installation, fault: Fault) -> None:
    _signal(_daemons(there, fault), signal.SIGKILL)


def _stop_daemon(there: Installation, fault: Fault) -> None:
    _halt(_daemons(there, fault), fault.seconds)


def _restart_daemon(there: Installation, fault: Fault) -> None:
    stop_running(_home(there, fault))


def _kill_pipe(there: Installation, fault: Fault) -> None:
    """Kill a pipe once it is on record what its agent has: where the disk is full, only the pipe and the memory of a daemon know that."""
    handed = there.handed.get(fault.slot)
    if handed is not None:
        there.log.until(lambda: there.log.has(handed, "collected"), f"{handed} was never collected")
    _signal(_pipes(there, fault), signal.SIGKILL)


def _stop_pipe(there: Installation, fault: Fault) -> None:
    _halt(_pipes(there, fault), fault.seconds)


def _kill_agent(there: Installation, fault: Fault) -> None:
    with suppress(FileNotFoundError, ValueError):
        _signal([int((there.folder / f"{fault.session}.pid").read_text())], signal.SIGKILL)


def _jump_clock(there: Installation, fault: Fault) -> None:
    """Set a clock back for a while, or forwards for good: what is due by a clock that was ahead is due later once it is right."""
    clock = there.clock(_home(there, fault))
    with there.clocks:
        (ahead,) = AHEAD.unpack(clock.read_bytes())
        _set(clock, ahead + fault.jump)
        if fault.jump < 0:
            time.sleep(fault.seconds)
            _set(clock, ahead)


def _set(clock: Path, ahead: float) -> None:
    # In place: processes have it in their memory.
    with clock.open("r+b", buffering=0) as file:
        file.write(AHEAD.pack(ahead))


def _silence_channel(there: Installation, fault: Fault) -> None:
    there.receiver.silence(fault.seconds)


def _fill_disk(there: Installation, fault: Fault) -> None:
    assert there.disk is not None
    there.disk.fill(fault.seconds)


def _cut_pipe(there: Installation, fault: Fault) -> None:
    assert there.around.agents is not None
    there.around.agents.cut(fault.seconds)


def _cut_database(there: Installation, fault: Fault) -> None:
    assert there.around.database is not None
    there.around.database.cut(fault.seconds)


def _kill_database(there: Installation, fault: Fault) -> None:
    assert there.around.server is not None
    with there.around.restarting:
        there.around.server.stop("immediate")
        there.around.server.start()


def _stop_database(there: Installation, fault: Fault) -> None:
    assert there.around.server is not None
    with there.around.restarting:
        _halt(there.around.server.processes(), fault.seconds)


FAULTS: dict[str, Callable[[Installation, Fault], None]] = {
    "kill daemon": _kill_daemon,
    "stop daemon": _stop_daemon,
    "restart daemon": _restart_daemon,
    "kill pipe": _kill_pipe,
    "stop pipe": _stop_pipe,
    "kill agent": _kill_agent,
    "jump clock": _jump_clock,
    "silence channel": _silence_channel,
    "fill disk": _fill_disk,
    "cut pipe": _cut_pipe,
    "cut database": _cut_database,
    "kill database": _kill_database,
    "stop database": _stop_database,
}


def possible(there: Installation) -> list[str]:
    """The faults that an installation can suffer; a daemon is killed twice as often as anything else."""
    without = set[str]()
    if not there.database:
        without |= {"cut database", "kill database", "stop database"}
    if there.around.agents is None:
        without |= {"fill disk", "cut pipe", "cut database"}
    return ["kill daemon", *(name for name in FAULTS if name not in without)]


def chosen(there: Installation, chance: Random, slot: int, session: str, names: Sequence[str]) -> Fault:
    """One of these faults."""
    return Fault(
        name=chance.choice(names),
        home=chance.randrange(len(there.homes)),
        slot=slot,
        session=session,
        after=chance.choice((0.0, 0.01, 0.05, 0.3)),
        seconds=chance.uniform(0.1, 1.5),
        jump=chance.choice(JUMPS),
    )


def begin(there: Installation, fault: Fault) -> Thread:
    """Do it in its moment, while something else goes on."""
    thread = Timer(fault.after, FAULTS[fault.name], (there, fault))
    thread.start()
    return thread


def _home(there: Installation, fault: Fault) -> Home:
    return there.homes[fault.home]


def _daemons(there: Installation, fault: Fault) -> list[int]:
    running = _home(there, fault).running()
    return [] if running is None else [running.pid]


def _pipes(there: Installation, fault: Fault) -> list[int]:
    pipe = there.pipe(fault.slot)
    return [] if pipe is None else [pipe.pid]


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _halt(pids: Sequence[int], seconds: float) -> None:
    _signal(pids, signal.SIGSTOP)
    time.sleep(seconds)
    _signal(pids, signal.SIGCONT)
