"""A simulated machine: run folders that outlive processes, keepers, and agent programs that ask, wait and go on."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from tests.runs.house import PlainReader
from tests.simulation.loop import Process, VirtualLoop
from upcall.domain.errors import StorageError
from upcall.domain.run.program import Command, Session, Task
from upcall.ports.agent import Driver, Reader
from upcall.runs.process.folder import OUTPUT, Exit, RunFolder, Start
from upcall.runs.process.host import RunHost
from upcall.runs.process.keeper import BUSY, STALE
from upcall.runs.process.keeper_server import Hello, KeeperConnection, KeeperOwner, KeeperServer

KILLED = -9


class SimulatedFolder(RunFolder):
    """A run's folder in memory; `keeper` has its lock."""

    def __init__(self, number: int) -> None:
        super().__init__(Path(f"/simulated/{number}"))
        self.files: dict[str, Any] = {"token": f"token-{number}"}
        self.output = b""
        self.keeper: Keeper | None = None

    @override
    def create(self) -> None:
        """It is there."""

    @override
    def read_start(self) -> Start:
        if "start.json" not in self.files:
            raise FileNotFoundError("start.json")
        return Start(**self.files["start.json"])

    @override
    def token(self) -> str:
        return str(self.files["token"])

    @override
    def forget_start(self) -> None:
        self.files.pop("start.json", None)

    @override
    def forget_environment(self) -> None:
        self.files.pop("environment.json", None)

    @override
    @contextmanager
    def locked(self) -> Iterator[int | None]:
        yield None if self.keeper is not None else 0

    @override
    def is_locked(self) -> bool:
        return self.keeper is not None

    @override
    def read(self, after: int, stream: str = OUTPUT, limit: int = 1 << 20) -> tuple[int, bytes]:
        return after, self.output[after : after + limit]

    @override
    def size(self, stream: str = OUTPUT) -> int:
        return len(self.output)

    @override
    def _write(self, name: str, content: object) -> None:
        self.files[name] = json.loads(json.dumps(content))

    @override
    def _read(self, name: str) -> Any:
        return self.files.get(name)


class Keeper:
    """One process of a run, with its keeper: both die together, or the agent alone."""

    def __init__(self, folder: SimulatedFolder, start: Start, process: Process) -> None:
        self.folder = folder
        self.start = start
        self.process = process
        self.connection: KeeperConnection | None = None
        self.ended: Callable[[], None] = lambda: None

    def write(self, line: Mapping[str, object]) -> None:
        """Write a line of output, which is on disk at once."""
        self.folder.output += json.dumps(line).encode() + b"\n"
        self._tell()

    def end(self, code: int) -> None:
        """The agent is over, and its keeper says so."""
        if self.folder.keeper is self:
            self.process.kill()
            self.folder.write_exit(Exit(self.start.number, code))
            self.folder.keeper = None
            if self.connection is not None:
                self.connection.exit_code = code
            self._tell()
            self.ended()

    def vanish(self) -> None:
        """Agent and keeper are killed: the lock is free, and that is all."""
        if self.folder.keeper is self:
            self.process.kill()
            self.folder.keeper = None
            if self.connection is not None:
                self.connection.gone = True
            self._tell()
            self.ended()

    def _tell(self) -> None:
        if self.connection is not None:
            self.connection.grew.set()


class _Orders:
    """What the daemon writes to a keeper."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        if json.loads(data).get("end"):
            self._keeper.end(-15)


class Program(Protocol):
    """Runs the agent of a process that a keeper has started."""

    def __call__(self, keeper: Keeper, told: Mapping[str, Any]) -> None:
        """Begin; `told` is what the process was started with."""
        ...


class Machine:
    """Everything of one machine that outlives its daemon."""

    def __init__(self, loop: VirtualLoop, program: Program) -> None:
        self.loop = loop
        self.program = program
        self.folders: dict[int, SimulatedFolder] = {}
        self.owner: SimulatedKeepers | None = None

    def folder(self, number: int) -> SimulatedFolder:
        """The folder of a run."""
        if number not in self.folders:
            self.folders[number] = SimulatedFolder(number)
        return self.folders[number]

    def live(self) -> list[Keeper]:
        """The keepers that are alive."""
        return [folder.keeper for folder in self.folders.values() if folder.keeper is not None]

    def start_keeper(self, number: int) -> int:
        """What `keeper.main` does: the lock, then the fence, then the start."""
        folder = self.folder(number)
        if folder.keeper is not None:
            return BUSY
        try:
            start = folder.read_start()
        except FileNotFoundError:
            return STALE
        if not folder.claim_start(start.number):
            return STALE
        keeper = Keeper(folder, start, Process(f"run {number} start {start.number}"))
        folder.keeper = keeper
        self.program(keeper, folder.files["told.json"])
        if self.owner is not None:
            self.owner.meet(keeper)
        return 0


class SimulatedKeepers(KeeperServer):
    """Where the keepers of a machine find the daemon, as the real one does it over loopback."""

    def __init__(self, machine: Machine, host: RunHost, owner: KeeperOwner, process: Process) -> None:
        super().__init__(host.home, owner)
        self._machine = machine
        self._of = owner
        self._process = process

    @override
    async def start(self) -> None:
        self._machine.owner = self
        for keeper in self._machine.live():
            self.meet(keeper)

    @override
    async def close(self) -> None:
        if self._machine.owner is self:
            self._machine.owner = None

    def meet(self, keeper: Keeper) -> None:
        """A keeper connects, a moment later."""
        self._machine.loop.let(self._process, self._meet(keeper))

    async def _meet(self, keeper: Keeper) -> None:
        hello = Hello(run=keeper.start.run, start=keeper.start.number, nonce="", proof="")
        try:
            known = await self._of.known(hello)
        except StorageError:
            # As the real one, it is back a moment later.
            self._machine.loop.call_later(0.5, self.meet, keeper)
            return
        if known is None:
            return
        if not known.is_newest:
            keeper.end(KILLED)
            return
        orders: Any = _Orders(keeper)
        connection = KeeperConnection(run=hello.run, start=hello.start, writer=orders)
        ended = keeper.folder.read_exit()
        if keeper.folder.keeper is not keeper:
            connection.gone = True
            if ended is not None and ended.number == hello.start:
                connection.exit_code = ended.code
        keeper.connection = connection
        connection.grew.set()
        self._of.connected(connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHost(RunHost):
    """A daemon's view of that machine."""

    machine: Machine
    process: Process

    @override
    def folder(self, number: int) -> RunFolder:
        return self.machine.folder(number)

    @override
    def with_environment(self) -> list[int]:
        return []

    @override
    def keeper_server(self, owner: KeeperOwner) -> KeeperServer:
        return SimulatedKeepers(self.machine, self, owner, self.process)

    @override
    def start_keeper(self, number: int) -> int:
        return self.machine.start_keeper(number)


class SimulatedAgent:
    """The adapter of the agent programs."""

    name = "claude"
    install_hint = ""
    rest = 0.0
    hides_results = False

    def program(self) -> str:
        """It is no file."""
        return "simulated"

    def version_problem(self, version: str) -> str | None:
        """Any will do."""
        return None

    def start(self, task: Task) -> Command:
        """Begin with the task."""
        return Command(argv=("simulated", task.prompt), cwd=task.cwd)

    def resume(self, session: Session, message: str | None) -> Command:
        """Go on with a session."""
        return Command(argv=("simulated", session.id), cwd=session.cwd)

    def attach(self, session: Session) -> Command:
        """As a person does."""
        return Command(argv=("simulated", session.id), cwd=session.cwd)

    def reader(self) -> Reader:
        """Reads the lines of `Keeper.write`."""
        return PlainReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        """It is only read."""
        return None
