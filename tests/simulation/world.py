"""A world of a plan: daemons on one store, machines, agents, people and a vendor, on one virtual clock, with the plan's faults."""

import asyncio
from collections.abc import Mapping
from contextvars import Context
from functools import partial
from random import Random
from typing import Any

from tests.simulation.actors import PROGRAM, Home, Human, Session
from tests.simulation.daemon import Daemon
from tests.simulation.database import Database
from tests.simulation.facts import Facts
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.machine import Keeper, Machine
from tests.simulation.memory_store import MemoryStore
from tests.simulation.plan import Fault, Plan
from tests.simulation.vendor import Vendor
from upcall.dispatch.people import People
from upcall.domain.errors import StorageError
from upcall.domain.run.run import Run
from upcall.runs.book import Book

BEGAN = 1_800_000_000.0
CUTS = ("add", "update", "settle", "show", "revise", "claim")
"""After which calls a daemon can be killed in the moment in which they have succeeded."""


class WorldLink:
    """The way of one daemon to the store: it takes a moment, and while the store refuses nothing arrives."""

    def __init__(self, world: "World", home: Home, random: Random) -> None:
        self._world = world
        self._home = home
        self._random = random

    async def there(self, method: str, *, writes: bool) -> None:
        """See `Link.there`."""
        await asyncio.sleep(self._random.choice((0.0, 0.0, 0.001, 0.004)))
        if self._world.refuses:
            raise StorageError("the database cannot be reached")

    async def back(self, method: str) -> None:
        """See `Link.back`."""
        if self._world.cuts.get(self._home.number) == method:
            # It is kept, and its daemon never learns of that.
            self._world.cut(self._home)
            await asyncio.sleep(0)
        if self._random.random() < 0.5:
            await asyncio.sleep(0)


class World:
    """Made from a plan, and run once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.loop: VirtualLoop = VirtualLoop()  # type: ignore[abstract] # what a simulation never calls is not there
        self.facts = Facts()
        self.offset = BEGAN
        self.refuses = False
        self.cuts: dict[int, str] = {}
        self.database = Database(self.now, Random(plan.seed))
        self.peers: list[MemoryStore] = []
        self.vendor = Vendor(Random(plan.seed + 1), self.facts)
        self.homes = [Home(number) for number in range(plan.daemons)]
        self.machines = [Machine(self.loop, self._begin_program) for _ in self.homes]
        self.sessions: dict[str, Session] = {}
        self.own: list[Process] = []
        self.people: list[Human] = []
        self._faults = list(plan.faults)
        self._incarnations = 0
        self._random = Random(plan.seed + 2)
        self.loop.before_step = self._before_step
        self.vendor.posted = self._posted
        self.disturbed = False

    def now(self) -> float:
        """The time by the clock of the store."""
        return self.loop.time() + self.offset

    async def begin(self) -> None:
        """Enter the runs, start the daemons, and let agents and people live."""
        setting_up = MemoryStore.open(self.database, self.peers, "set-up")
        people = People(setting_up, self.now)
        for number in range(self.plan.people):
            human = Human(
                f"p{number}", self.homes, self.vendor, self.facts, Random(self.plan.seed * 31 + number)
            )
            self.people.append(human)
            await people.add(human.name, [human.identity])
        for number in range(1, self.plan.runs + 1):
            home = self.homes[number % len(self.homes)]
            book = Book(setting_up, f"machine {home.number}", self.now)
            run = Run(
                number=await book.next_number(),
                agent=PROGRAM,
                task=f"run-{number}",
                cwd="/",
                by="ana",
                runner=book.runner,
                created_at=self.now(),
                token=f"token-{number}",
            )
            await book.enter(run)
            self._session(f"run-{number}", home)
        await setting_up.close()
        for home in self.homes:
            self._start(home)
        for number in range(self.plan.own):
            home = self.homes[number % len(self.homes)]
            process = Process(f"own-{number}")
            self.own.append(process)
            session = self._session(process.name, home)
            session.leave = partial(self._kill_own, process)
            self.loop.let(process, session.on_its_own(process, self.loop))
        for human in self.people:
            self.loop.let(None, human.live())

    def at_rest(self) -> bool:
        """Whether nothing is left to be done: no open question, no answer on its way, no process at work."""
        return (
            not self._faults
            and not any(kept.closed_at is None for kept in self.database.inquiries.values())
            and not any(_is_work(job.kind) for job in self.database.jobs.values())
            and not any(machine.live() for machine in self.machines)
            and not any(process.alive for process in self.own)
        )

    async def until_rest(self, seconds: float) -> bool:
        """Let time pass until nothing is left to be done; False if that does not come."""
        began, calm = self.loop.time(), 0
        while self.loop.time() - began < seconds:
            await asyncio.sleep(5.0)
            calm = calm + 1 if self.at_rest() else 0
            if calm > 3:
                return True
        return False

    def heal(self) -> None:
        """No more faults; every daemon runs."""
        self._faults.clear()
        self.cuts.clear()
        self.refuses = self.vendor.down = self.vendor.silent = False

    def _own(self, process: Process) -> Session:
        return self.sessions[process.name]

    def _session(self, name: str, home: Home) -> Session:
        questions, random = self.plan.questions, Random(f"{self.plan.seed} {name}")
        self.sessions[name] = Session(name, home, questions, self.facts, random)
        return self.sessions[name]

    def _begin_program(self, keeper: Keeper, told: Mapping[str, Any]) -> None:
        name = keeper.start.argv[1]
        self.facts.note(self.loop.time(), f"{keeper.process.name} of {name} begins, told {told['delivers']}")
        self.sessions[name].supervised(keeper, told, self.loop)

    def _start(self, home: Home) -> None:
        self._incarnations += 1
        name = f"daemon {home.number}.{self._incarnations}"
        link = WorldLink(self, home, Random(f"{self.plan.seed} {name}"))
        store = MemoryStore.open(self.database, self.peers, name, link)
        alone = len(self.homes) == 1
        home.daemon = Daemon(
            home.number, self.loop, store, self.machines[home.number], self.vendor, alone=alone
        )
        home.daemon.start()
        self.facts.note(self.loop.time(), f"{name} starts")

    def _before_step(self) -> None:
        if self._faults and self.loop.steps >= self._faults[0].step:
            self._happens(self._faults.pop(0))

    def _happens(self, fault: Fault) -> None:
        home = self.homes[fault.of % len(self.homes)]
        self.facts.note(self.loop.time(), f"{fault.kind} {fault.of} {fault.size:g} at step {self.loop.steps}")
        soon = self.loop.call_later
        size = abs(fault.size)
        match fault.kind:
            case "crash":
                self._crash(home, min(size, 20.0))
            case "halt":
                self._halt(home, size)
            case "jump":
                self.offset += fault.size
            case "kill" | "vanish":
                self._kill(fault)
            case "refuse":
                self.refuses = True
                soon(min(size, 100.0), self._accept)
            case "cut":
                self.cuts[home.number] = CUTS[int(size) % len(CUTS)]
            case "down":
                self.vendor.down = True
                soon(size, self._vendor_back)
            case _:
                self.vendor.silent = True
                soon(min(size, 100.0), self._vendor_back)

    def cut(self, home: Home) -> None:
        """Kill a daemon right after something was done for it, and before it knows."""
        self.facts.note(
            self.loop.time(), f"daemon {home.number} is killed after its {self.cuts.pop(home.number)}"
        )
        # Not as a part of the process that dies.
        Context().run(self._crash, home, 0.5)

    def _posted(self) -> None:
        for number, method in list(self.cuts.items()):
            if method == "show":
                self.cut(self.homes[number])

    def _crash(self, home: Home, pause: float) -> None:
        if home.daemon is None or not home.daemon.alive:
            return
        dead, home.daemon = home.daemon, None
        dead.crash()
        self.peers.remove(dead.store)
        self.loop.call_later(pause, self._start, home)
        if len(self.homes) > 1:
            # The other daemons see that its connection to the database is gone.
            self.loop.call_later(1.0, self._take_over, dead.store.holder)

    def _take_over(self, gone: str) -> None:
        for home in self.homes:
            daemon = home.daemon
            if daemon is not None and daemon.alive and daemon.ready and not daemon.process.halted:
                self.loop.let(None, self._taken_over(daemon, gone))
                return
        self.loop.call_later(1.0, self._take_over, gone)

    async def _taken_over(self, daemon: Daemon, gone: str) -> None:
        try:
            await daemon.call(daemon.store.take_over(lambda holder: holder == gone))
        except Exception:  # noqa: BLE001 - whatever it is, it is tried again
            self.loop.call_later(1.0, self._take_over, gone)

    def _halt(self, home: Home, seconds: float) -> None:
        daemon = home.daemon
        if daemon is not None and daemon.alive and not daemon.process.halted:
            daemon.process.halted = True
            self.disturbed = True
            self.loop.call_later(min(seconds, 200.0), self.loop.go_on, daemon.process)

    def _kill(self, fault: Fault) -> None:
        live = [keeper for machine in self.machines for keeper in machine.live()]
        alone = [process for process in self.own if process.alive]
        if not live and not alone:
            return
        at = fault.of % (len(live) + len(alone))
        if at >= len(live):
            self._kill_own(alone[at - len(live)])
        elif fault.kind == "kill":
            live[at].end(-9)
        else:
            live[at].vanish()

    def _kill_own(self, process: Process) -> None:
        process.kill()
        session = self._own(process)
        daemon = session.home.daemon
        if daemon is not None and f"{PROGRAM}:{session.name}" in daemon.held:
            # Its pipe's connection is closed.
            self.loop.let(daemon.process, _disconnect(daemon, session.name))

    def _accept(self) -> None:
        self.refuses = False

    def _vendor_back(self) -> None:
        self.vendor.down = self.vendor.silent = False


async def _disconnect(daemon: Daemon, name: str) -> None:
    daemon.held.disconnect(f"{PROGRAM}:{name}")


def _is_work(kind: str) -> bool:
    return kind == "resume" or kind.startswith(("show:", "refresh:", "say:", "tell:"))
