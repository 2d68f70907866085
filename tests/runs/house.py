"""A store, a broker and a service of runs with one agent: the program beside this file."""

import asyncio
import fcntl
import json
import logging
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker, Reply
from upcall.broker.pacing import Pacing
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Caller, Role
from upcall.domain.run import resume
from upcall.domain.run.program import (
    Asked,
    Command,
    Deferred,
    Finished,
    Noticed,
    Said,
    Session,
    SessionSeen,
    Task,
    ToolReturned,
    TurnTaken,
    Unreadable,
)
from upcall.domain.run.run import Order, Run, RunState
from upcall.home.files import Home
from upcall.ports.agent import Driver, Reader
from upcall.ports.store import Store
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.host import RunHost, RunSettings
from upcall.runs.service import RunService
from upcall.stores.sqlite.store import SqliteStore

PROGRAM = Path(__file__).with_name("program.py")
ANA = Caller(name="ana", role=Role.PERSON)


class PlainReader:
    def notice(self, line: str) -> Iterable[Noticed]:
        try:
            told = json.loads(line)
        except ValueError:
            return [Unreadable(line=line)]
        match told:
            case {"session": session}:
                return [SessionSeen(id=session)]
            case {"turn": _}:
                return [TurnTaken()]
            case {"said": text}:
                return [Said(text=text)]
            case {"returned": text}:
                return [ToolReturned(id=told.get("call", ""), text=text)]
            case {"asked": fields}:
                return [Asked(fields=fields)]
            case {"deferred": call}:
                return [Deferred(id=call, name="ask")]
            case {"result": text}:
                return [Finished(ok=not told.get("bad"), text=text, reason=told.get("bad", ""))]
            case _:
                return []


class PlainAgent:
    name = "plain"
    install_hint = "it is a file beside the tests"

    def __init__(self, rest: float = 0.0, *, hides_results: bool = False) -> None:
        self.rest = rest
        self.hides_results = hides_results

    def program(self) -> str:
        return sys.executable

    def version_problem(self, version: str) -> str | None:
        return None if version.startswith("Python 3") else "needs Python 3"

    def start(self, task: Task) -> Command:
        return self._command(task, "start", task.session, task.prompt)

    def resume(self, session: Session, message: str | None) -> Command:
        return self._command(session, "resume", session.id, "nothing" if message is None else message)

    def attach(self, session: Session) -> Command:
        return self._command(session, "attach", session.id, "")

    def reader(self) -> Reader:
        return PlainReader()

    def driver(self, told: Task | Session, message: str | None) -> Driver | None:
        return None

    def _command(self, of: Task | Session, *words: str) -> Command:
        return Command(argv=(sys.executable, str(PROGRAM), *words), cwd=of.cwd)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Everything that a test needs. `work` is the agents' working directory."""

    home: Home
    store: Store
    broker: Broker
    access: Access
    runs: RunService
    held: ConnectedSessions
    work: Path

    async def begin(self, task: str, **order: object) -> Run:
        wanted = Order(agent="plain", task=task, cwd=str(self.work))
        return (await self.runs.begin(replace(wanted, **order), ANA)).run  # type: ignore[arg-type] # fields by name

    async def until(self, run: Run, wanted: Callable[[Run], bool]) -> Run:
        """The run as soon as something is true of it, which the log of events tells."""
        seen = 0
        async with asyncio.timeout(30):
            while not wanted(current := await self.runs.get(run.number)):
                events = await self.store.events(seen, wait=30)
                seen = events[-1].seq if events else seen
        return current

    async def until_state(self, run: Run, *states: RunState) -> Run:
        return await self.until(run, lambda current: current.state in states)

    async def until_session(self, run: Run) -> Run:
        return await self.until(run, lambda current: bool(current.session))

    async def ask(self, run: Run, text: str = "Which colour?", **origin: object) -> Inquiry:
        """Ask as that run does."""
        made = Origin(agent="plain", session="s", door="mcp", run=run.number, runner=run.runner)
        fields: dict[str, object] = {"question": text, "options": ["Blue", "Red"]}
        asked = await self.broker.ask(draft(fields, Limits()), replace(made, **origin))  # type: ignore[arg-type] # fields by name
        return asked.inquiry

    async def ask_as(self, origin: dict[str, Any], text: str = "Which colour?") -> Inquiry:
        """Ask as some session does."""
        made = Origin(**{"agent": "plain", "session": "s", "door": "mcp-pipe", "runner": "here", **origin})
        fields: dict[str, object] = {"question": text, "options": ["Blue", "Red"]}
        return (await self.broker.ask(draft(fields, Limits()), made)).inquiry

    async def until_begun(self, number: int) -> Run:
        """A run, as soon as there is one of that number."""
        seen = 0
        async with asyncio.timeout(30):
            while not [run for run in (await self.runs.find()).items if run.number == number]:
                events = await self.store.events(seen, wait=30)
                seen = events[-1].seq if events else seen
        return await self.runs.get(number)

    async def answer(self, inquiry: Inquiry, text: str = "Red", *, force: bool = False) -> Inquiry:
        settled = await self.broker.receive(inquiry.id, Reply(text=text, force=force), ANA)
        assert settled.accepted
        return settled.inquiry

    def sql(self, statement: str) -> None:
        """Change the database behind the daemon's back."""
        with closing(sqlite3.connect(self.home.database_file)) as db, db:
            db.execute(statement)

    def output(self, run: Run) -> list[dict[str, object]]:
        """Every line that a run has written."""
        _, data = self.folder(run).read(0)
        return [json.loads(line) for line in data.splitlines()]

    def desk(self, run: Run) -> ApprovalDesk:
        """Where a run's own program puts what it wants to do."""
        return ApprovalDesk(self.broker, caller=run.caller, session=f"run-{run.number}", door="native")

    def folder(self, run: Run) -> RunFolder:
        return RunFolder(self.home.path / "runs" / str(run.number))

    async def until_let_go(self, run: Run) -> None:
        """Until the run's keeper is gone, which frees its lock."""
        lock = await asyncio.to_thread((self.folder(run).path / "lock").open, "rb")
        with lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)

    def processes(self) -> list[int]:
        """The live processes of the agents, and those that they have started: all work in the same folder."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if (entry / "cwd").readlink() == self.work and (entry / "stat").read_text().rpartition(
                        ")"
                    )[2].split()[0] != "Z":
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found


class _Hearing(logging.Handler):
    def __init__(self, part: str) -> None:
        super().__init__()
        self._part = part
        self.heard = asyncio.Event()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if self._part in record.getMessage():
            self.heard.set()


@asynccontextmanager
async def until_logged(part: str) -> AsyncIterator[None]:
    """Do something after which a line with this part is logged, and wait for that."""
    log, hearing = logging.getLogger("upcall.runs"), _Hearing(part)
    log.addHandler(hearing)
    try:
        yield
        async with asyncio.timeout(30):
            await hearing.heard.wait()
    finally:
        log.removeHandler(hearing)


@asynccontextmanager
async def a_house(
    path: Path,
    *,
    limit: int = 4,
    end: bool = True,
    rest: float = 0.0,
    hides_results: bool = False,
    resume_message: str = "",
    advice: str = "",
    pacing: Pacing | None = None,
    clock: Callable[[], float] = time.time,
    **settings: Any,
) -> AsyncIterator[House]:
    """A daemon's worth of runs in a folder; entered again, it is the next daemon."""
    home = Home(path / "home")
    home.create()
    work = path / "work"
    work.mkdir(exist_ok=True)
    store = await SqliteStore.open(home.database_file, clock=clock)
    broker = Broker(store, follow_up=resume.consequences, pacing=pacing, clock=clock)
    await broker.start()
    access = Access(store)
    await access.load()
    held = ConnectedSessions()
    host = RunHost(
        home=home,
        url="http://127.0.0.1:1",
        runner="here",
        settings=RunSettings(
            limit=limit,
            arguments=lambda _: ("--quiet",),
            resume_message=resume_message,
            advice=advice,
            **{"kill_grace": 1.0, **settings},
        ),
        access=access,
        agents=lambda _: PlainAgent(rest, hides_results=hides_results),
        desks=lambda run: ApprovalDesk(broker, caller=run.caller, session=f"run-{run.number}", door="native"),
        held=held,
    )
    runs = RunService(host, broker)
    await runs.open()
    try:
        yield House(home=home, store=store, broker=broker, access=access, runs=runs, held=held, work=work)
    finally:
        await runs.close(end=end)
        await broker.close()
        await store.close()
