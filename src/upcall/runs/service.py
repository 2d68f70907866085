"""Runs: begin, follow, steer, end, and bring back. What the API and the commands talk to."""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access, digest
from upcall.approvals.abandoned import deny_open
from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest, RunConflict
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role, require_person
from upcall.domain.run.program import Command, Permission
from upcall.domain.run.run import Order, Run, RunState
from upcall.runs.adopting import Adopting, is_folder
from upcall.runs.affairs import Affairs
from upcall.runs.book import Book, RunPage, Step, refuse_while_ending, waiting_again
from upcall.runs.chores import Chores
from upcall.runs.deliveries import Deliveries
from upcall.runs.fate import Fate
from upcall.runs.forwarding import Forwarding
from upcall.runs.keyed import Begun, enter_once, run_under
from upcall.runs.process.log import LogPage, complaints, lines_of, stream_of
from upcall.runs.process.preparing import Premises
from upcall.runs.process.programs import Programs
from upcall.runs.process.started import Told
from upcall.runs.process.supervise import Supervisor
from upcall.runs.pruning import Pruning
from upcall.runs.questions import Listening
from upcall.runs.resume import Resuming, Sessions
from upcall.runs.state_files import StateFiles
from upcall.runs.tidying import Tidying

LONGEST_TASK = 1024 * 1024
TAIL = 64 * 1024
"""How many bytes of output the end of a log is made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On which runs are begun: how many work at once, and what each agent may do and is always started with."""

    limit: int
    permission: Callable[[str], Permission]
    arguments: Callable[[str], tuple[str, ...]]


class Runs:
    """One per daemon. Start it with `open` and end it with `close`."""

    def __init__(
        self, premises: Premises, broker: Broker, access: Access, terms: Terms, held: ConnectedSessions
    ) -> None:
        self._premises = premises
        self._broker = broker
        self._store = broker.store
        self._terms = terms
        self._book = Book(broker.store, broker.now)
        self._deliveries = Deliveries(broker)
        self._programs = Programs()
        affairs = Affairs(
            store=broker.store,
            book=self._book,
            deliveries=self._deliveries,
            runner=premises.runner,
            clock=broker.now,
        )
        self._supervisor = Supervisor(premises, affairs, access, held.taken, self._process_ended)
        self._adopting = Adopting(broker.store, self._book, premises, broker.now)
        sessions = Sessions(
            begin=self._supervisor.start,
            adopt=self._adopting.adopt,
            rested_at=premises.rested_at,
            is_kept=lambda number: premises.folder(number).is_kept(),
            held=held,
            room=self._room,
        )
        self._resuming = Resuming(affairs, sessions, self._given_up, template=premises.resume_message)
        self._held = held
        held.on_disconnect = self._let_go
        self._forwarding = Forwarding(broker.store, premises)
        self._fate = Fate(self._forwarding, self._book, held, premises.runner)
        self._pruning = Pruning(broker.store, self._book, premises.home.path / "runs")
        self._tidying = Tidying(broker.store, self._book, premises, broker.now)
        self._listening = Listening(
            affairs,
            self._heard,
            self._supervisor.end,
            StateFiles(premises, self._book, self._deliveries).refresh,
        )
        self._pumping = asyncio.Lock()
        self._resting: set[int] = set()
        self._chores = Chores()
        self._closing = False

    async def open(self) -> None:
        """Take up what another daemon has left, and begin to work."""
        seen = await self._store.last_seq()
        await self._supervisor.open()
        await self._listening.review()
        self._resuming.start()
        await self._listening.start(seen)
        await self._tidying.start(seen)
        await self._pump()

    async def close(self, *, end: bool = False) -> None:
        """Let go of every process, which a keeper stays with; with `end`, end them."""
        self._closing = True
        self._held.on_disconnect = lambda _: None
        await self._resuming.close()
        await self._supervisor.close(end=end)
        await self._listening.close()
        await self._tidying.close()
        await self._chores.close()

    async def begin(self, order: Order, by: Caller) -> Begun:
        """Have a task worked on, as soon as there is room for it.

        Raises:
            NotAllowed: if the caller is an agent.
            InvalidRequest: if there is no task, or no such folder.
            UpcallError: if the agent is not known, not installed, or not in a version that works.
        """
        require_person(by, "start a run")
        if (earlier := await run_under(self._store, self._book, by, order)) is not None:
            return Begun(earlier, created=False)
        task = order.task.strip()
        if not task or len(task.encode("utf-8", "replace")) > LONGEST_TASK:
            raise InvalidRequest("task: some text, of 1 MiB at most", hint="say what is to be done")
        if not await asyncio.to_thread(is_folder, order.cwd):
            raise InvalidRequest(f"cwd: there is no folder {order.cwd!r} on this machine")
        agent = self._premises.agents(order.agent)
        environment = os.environ if order.environment is None else order.environment
        await self._programs.check(agent, environment)
        secret = f"upcall_run_{secrets.token_urlsafe(32)}"
        run = self._run(await self._book.next_number(), replace(order, task=task), by, secret)
        # Whoever sees it in the book may start it, so everything is there by then.
        await asyncio.to_thread(self._premises.furnish, run, secret, order.environment)
        if not await enter_once(self._store, self._book, run, by, order):
            await asyncio.to_thread(shutil.rmtree, self._premises.folder(run.number).path)
            return await self.begin(order, by)
        await self._pump()
        return Begun(await self._book.get(run.number), created=True)

    async def get(self, number: int) -> Run:
        """A run as it is at this moment.

        Raises:
            UnknownRun: if there is none of that number.
        """
        return self._supervisor.live(await self._book.get(number))

    async def find(self, *, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        """A page of runs, the newest first."""
        if state is not None and state not in set(RunState):
            raise InvalidRequest(f"there is no state {state!r}", hint=f"it is one of {', '.join(RunState)}")
        page = await self._book.find(state, cursor, limit)
        return replace(page, items=tuple([self._supervisor.live(run) for run in page.items]))

    async def cancel(self, number: int, by: Caller) -> Run:
        """End a run, its process tree and its questions.

        Raises:
            RunConflict: if it is over.
        """
        require_person(by, "cancel a run")

        def decide(run: Run) -> Step | None:
            if run.is_over:
                raise RunConflict(f"run {number} is {run.state.value} already")
            ending = replace(run, ending=by.name)
            if run.alive:
                return Step(run=ending)
            over = replace(ending, state=RunState.CANCELLED, ended_at=self._broker.now())
            return Step(run=replace(over, reason=f"cancelled by {by.name}"), event="run_cancelled")

        run, _ = await self._book.change(number, decide)
        self._supervisor.end(number)
        if not run.alive:
            await self._leave_nothing_open(run)
        return run

    async def retry(self, number: int, by: Caller) -> Run:
        """Try a run again: with the answer that it did not get, or that its session was told; else as a new run.

        Raises:
            RunConflict: if it is not over.
        """
        require_person(by, "retry a run")
        run = await self._book.get(number)
        if not run.is_over and run.next_try is None:
            raise RunConflict(f"run {number} is {run.state.value}", hint=f"`upcall cancel {number}` first")
        if await self._resuming.again(run):
            run, _ = await self._book.change(number, waiting_again)
            return run
        if (told := await self._adopting.again(run)) is not None:
            await self._book.change(number, lambda current: told if current.is_over else None)
            await self._pump()
            return await self.get(number)
        environment = await asyncio.to_thread(self._premises.folder(number).read_environment)
        order = Order(
            agent=run.agent,
            task=run.task,
            cwd=run.cwd,
            permission=run.permission,
            arguments=run.arguments,
            environment=environment,
            retry_of=number,
        )
        return (await self.begin(order, by)).run

    async def say(self, number: int, text: str, by: Caller) -> str:
        """Tell a run something: at once (`live`), when its turn is over (`queued`), or by resuming it (`resumed`).

        Raises:
            InvalidRequest: if there is nothing in it.
            RunConflict: if it is being ended, or has no session to be resumed.
        """
        require_person(by, "steer a run")
        if not text.strip():
            raise InvalidRequest("text: some words for the agent")
        refuse_while_ending(await self._book.get(number))
        if await self._supervisor.say(number, text):
            return "live"

        def decide(run: Run) -> Step:
            refuse_while_ending(run)
            if not run.alive and not run.session and run.state is not RunState.QUEUED:
                raise RunConflict(
                    f"run {number} has no session to go on with", hint=f"`upcall retry {number}`"
                )
            heard = replace(run, messages=(*run.messages, text), ending="")
            if run.alive or run.state is RunState.QUEUED:
                return Step(run=heard, event="run_told")
            return Step(run=replace(heard, state=RunState.QUEUED), event="run_queued")

        run, _ = await self._book.change(number, decide)
        if run.alive:
            return "queued"
        await self._pump()
        return "resumed"

    async def log(self, number: int, after: int, wait: float = 0, *, raw: bool = False) -> LogPage:
        """What a run has written after a place in its output; nothing only after `wait` seconds."""
        folder = self._premises.folder(number)
        deadline = self._broker.now() + wait
        seen = await self._store.last_seq()
        while True:
            run = await self._book.get(number)
            stream = stream_of(folder, raw=raw)
            begins, data = await asyncio.to_thread(folder.read_lines, after, stream, cut=not run.alive)
            left = deadline - self._broker.now()
            if data or run.is_over or left <= 0:
                break
            # Progress is written into the log of events, so nobody has to look at files all the time.
            events = await self._store.events(seen, wait=min(left, 1.0))
            seen = events[-1].seq if events else seen
        lines = lines_of(stream, self._premises.agents(run.agent).reader(), begins, data, raw=raw)
        over = run.is_over and not data
        if over and not raw and run.state is RunState.FAILED:
            lines += await asyncio.to_thread(complaints, folder, begins)
        return LogPage(lines=tuple(lines), next_after=begins + len(data), over=over)

    async def tail(self, number: int) -> LogPage:
        """The end of what a run has written, and where to read on."""
        run = await self._book.get(number)
        folder = self._premises.folder(number)
        stream = stream_of(folder, raw=False)
        data, end = await asyncio.to_thread(folder.last_lines, TAIL, stream)
        lines = lines_of(stream, self._premises.agents(run.agent).reader(), end - len(data), data, raw=False)
        return LogPage(lines=tuple(lines), next_after=end, over=run.is_over)

    async def attach(self, number: int) -> Command:
        """How a person takes a run's session over in a terminal.

        Raises:
            RunConflict: while a process of it is alive, or when it never told its session.
        """
        run = await self._book.get(number)
        if run.alive:
            raise RunConflict(
                f"run {number} is at work", hint=f"`upcall log -f {number}`, or cancel it first"
            )
        if not run.session:
            raise RunConflict(f"run {number} never told its session")
        return self._premises.agents(run.agent).attach(self._premises.session_of(run))

    async def prune(self, before: float) -> int:
        """Forget runs that were over before then, with their folders; how many."""
        return await self._pruning.prune(before)

    async def resume_state(self, inquiry: str) -> Mapping[str, object] | None:
        """How far the delivery of an answer by resuming is; None where nobody thinks of it."""
        return await self._forwarding.state(await self._store.get(inquiry))

    async def fate(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """Where an answer goes that was given just now; `awaited` says that a call waited for it."""
        return await self._fate.of(inquiry, awaited=awaited)

    def _run(self, number: int, order: Order, by: Caller, secret: str) -> Run:
        # Whatever is tried again has them already.
        given = () if order.retry_of else self._terms.arguments(order.agent)
        return Run(
            number=number,
            agent=order.agent,
            task=order.task,
            cwd=order.cwd,
            by=by.name,
            runner=self._premises.runner,
            created_at=self._broker.now(),
            permission=order.permission or self._terms.permission(order.agent),
            arguments=(*given, *order.arguments),
            token=digest(secret),
            retry_of=order.retry_of,
        )

    async def _pump(self) -> None:
        """Start what is queued, the oldest first, as far as there is room. Whoever waits for a person takes none."""
        async with self._pumping:
            if self._closing:
                return
            mine = self._premises.runner
            # Those whose answer is there were begun earlier than anybody who is queued.
            room = self._terms.limit - await self._at_work() - self._resuming.without_room
            queued = [run async for run in self._book.each(RunState.QUEUED.value) if run.runner == mine]
            waiting = [run for run in reversed(queued) if not self._rests(run)]
            for run in waiting[: max(room, 0)]:
                told = Told(resumes=True, message="") if run.session else Told(resumes=False)
                await self._supervisor.start(run.number, told)

    async def _at_work(self) -> int:
        mine = self._premises.runner
        return len([run async for run in self._book.each(RunState.RUNNING.value) if run.runner == mine])

    @asynccontextmanager
    async def _room(self) -> AsyncIterator[bool]:
        async with self._pumping:
            yield await self._at_work() < self._terms.limit

    def _rests(self, run: Run) -> bool:
        """Whether a session has to be left alone; it is thought of again when that is over."""
        left = self._premises.rested_at(run) - self._broker.now() if run.session else 0.0
        if left <= 0:
            return False
        if run.number not in self._resting:
            self._resting.add(run.number)
            _ = self._chores.add(self._pump_after(run, left), f"let run {run.number} rest")
        return True

    async def _pump_after(self, run: Run, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._resting.discard(run.number)
        await self._pump()

    def _process_ended(self, run: Run) -> None:
        _ = self._chores.add(self._after(run), f"what follows run {run.number}")

    async def _after(self, run: Run) -> None:
        if run.state is RunState.CANCELLED:
            await self._leave_nothing_open(run)
        else:
            await self._resuming.ended(run)
        await self._resuming.room_made()
        await self._pump()

    def _let_go(self, session: str) -> None:
        _ = self._chores.add(self._resuming.let_go(session), f"what follows {session}")

    async def _heard(self) -> None:
        self._resuming.wake()
        await self._resuming.room_made()
        await self._pump()

    async def _given_up(self, run: Run) -> None:
        """Nothing can come of a yes any more. Questions stay: whoever retries the run may still need them."""
        for inquiry in await deny_open(self._broker, run.agent, run=run.number):
            await self._deliveries.drop(run, inquiry)

    async def _leave_nothing_open(self, run: Run) -> None:
        await asyncio.to_thread(self._premises.folder(run.number).forget_environment)
        await deny_open(self._broker, run.agent, run=run.number, reason="run_cancelled")
        admin = Caller(name=run.ending or run.agent, role=Role.ADMIN)
        for inquiry in await self._deliveries.open(run):
            await self._broker.cancel(inquiry.id, admin, reason="run_cancelled", via="runs")
