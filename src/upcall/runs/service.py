"""Runs: begin, follow, steer, end, and bring back. What the API and the commands talk to."""

import asyncio
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace

from upcall.access.tokens import digest
from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest, RunConflict
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, require_person
from upcall.domain.run.program import Command
from upcall.domain.run.run import Order, Run, RunState
from upcall.ports.runs import Begun, LogPage, RunPage
from upcall.runs.activity import ActivityReader
from upcall.runs.adoption import Adoption, is_folder
from upcall.runs.book import Book, Step, refuse_while_ending, waiting_again
from upcall.runs.cleanup import Cleanup
from upcall.runs.deliveries import Deliveries
from upcall.runs.log import RunLogs
from upcall.runs.process.host import RunHost
from upcall.runs.process.programs import Programs
from upcall.runs.process.supervise import Supervisor
from upcall.runs.questions import QuestionFollower
from upcall.runs.queue import RunQueue
from upcall.runs.recipients import Recipients
from upcall.runs.resume import ResumeWorker
from upcall.runs.tasks import Tasks

LONGEST_TASK = 1024 * 1024


class RunService:
    """The `Runs` of one daemon (`ports/runs.py`). Start it with `open` and end it with `close`."""

    def __init__(self, host: RunHost, broker: Broker) -> None:
        self._host = host
        self._book = Book(broker.store, host.runner, broker.now)
        self._deliveries = Deliveries(broker)
        self._programs = Programs()
        self._supervisor = Supervisor(host, self._book, self._deliveries, self._process_ended)
        self._adoption = Adoption(host, self._book, broker.files)
        self._worker = ResumeWorker(
            self._supervisor,
            self._adoption,
            self._deliveries,
            self._book,
            template=host.settings.resume_message,
        )
        self._queue = RunQueue(self._supervisor, self._worker, self._book)
        self._cleanup = Cleanup(host, self._book)
        self._questions = QuestionFollower(host, self._supervisor, self._queue, self._deliveries, self._book)
        self._recipients = Recipients(host, self._book)
        self._logs = RunLogs(host, self._book)
        self._activity = ActivityReader(host, self._book, self._supervisor.live)
        self._tasks = Tasks()
        host.held.on_disconnect = self._session_ended

    async def open(self) -> None:
        """Take over what another daemon has left, and begin to work."""
        seen = await self._book.store.last_seq()
        await self._supervisor.open()
        await self._questions.review()
        self._worker.start()
        await self._questions.start(seen)
        await self._cleanup.start(seen)
        await self._activity.start(seen)
        await self._queue.start_due()

    async def close(self, *, end: bool = False) -> None:
        """Let go of every process, which its keeper stays with; with `end`, end them."""
        self._host.held.on_disconnect = lambda _: None
        await self._worker.close()
        await self._queue.close()
        await self._supervisor.close(end=end)
        await self._questions.close()
        await self._cleanup.close()
        await self._activity.close()
        await self._tasks.close()

    async def begin(self, order: Order, by: Caller) -> Begun:
        """See `Runs.begin`."""
        require_person(by, "start a run")
        if (earlier := await self._book.started_under(by, order)) is not None:
            return Begun(earlier, created=False)
        task = order.task.strip()
        if not task or len(task.encode("utf-8", "replace")) > LONGEST_TASK:
            raise InvalidRequest("task: some text, of 1 MiB at most", hint="say what is to be done")
        if not await asyncio.to_thread(is_folder, order.cwd):
            raise InvalidRequest(f"cwd: there is no folder {order.cwd!r} on this machine")
        agent = self._host.agents(order.agent)
        environment = os.environ if order.environment is None else order.environment
        await self._programs.check(agent, environment)
        secret = f"upcall_run_{secrets.token_urlsafe(32)}"
        run = self._run(await self._book.next_number(), replace(order, task=task), by, secret)
        # Once the run is in the book it may be started, so everything is there by then.
        await asyncio.to_thread(self._host.create_folder, run, secret, order.environment)
        if not await self._book.enter_once(run, by, order):
            await asyncio.to_thread(shutil.rmtree, self._host.folder(run.number).path)
            return await self.begin(order, by)
        await self._queue.start_due()
        return Begun(await self._book.get(run.number), created=True)

    async def get(self, number: int) -> Run:
        """See `Runs.get`."""
        return self._supervisor.live(await self._book.get(number))

    async def find(self, *, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        """See `Runs.find`."""
        if state is not None and state not in set(RunState):
            raise InvalidRequest(f"there is no state {state!r}", hint=f"it is one of {', '.join(RunState)}")
        page = await self._book.find(state, cursor, limit)
        return replace(page, items=tuple([self._supervisor.live(run) for run in page.items]))

    async def cancel(self, number: int, by: Caller) -> Run:
        """See `Runs.cancel`."""
        require_person(by, "cancel a run")

        def decide(run: Run) -> Step | None:
            if run.is_over:
                raise RunConflict(f"run {number} is {run.state.value} already")
            ending = replace(run, ending=by.name)
            if run.alive:
                return Step(run=ending)
            over = replace(ending, state=RunState.CANCELLED, ended_at=self._book.now())
            return Step(run=replace(over, reason=f"cancelled by {by.name}"), event="run_cancelled")

        run, _ = await self._book.change(number, decide)
        self._supervisor.end(number)
        if not run.alive:
            await self._after_cancel(run)
        return run

    async def retry(self, number: int, by: Caller, key: str = "") -> Run:
        """See `Runs.retry`."""
        require_person(by, "retry a run")
        run = await self._book.get(number)
        if not run.is_over and run.next_try is None:
            raise RunConflict(f"run {number} is {run.state.value}", hint=f"`upcall cancel {number}` first")
        if await self._worker.again(run):
            run, _ = await self._book.change(number, waiting_again)
            return run
        if (step := await self._adoption.again(run)) is not None:
            await self._book.change(number, lambda current: step if current.is_over else None)
            await self._queue.start_due()
            return await self.get(number)
        environment = await asyncio.to_thread(self._host.folder(number).read_environment)
        order = Order(
            agent=run.agent,
            task=run.task,
            cwd=run.cwd,
            permission=run.permission,
            arguments=run.arguments,
            environment=environment,
            retry_of=number,
            request_key=key,
        )
        return (await self.begin(order, by)).run

    async def say(self, number: int, text: str, by: Caller, key: str = "") -> str:
        """See `Runs.say`."""
        require_person(by, "steer a run")
        if not text.strip():
            raise InvalidRequest("text: some words for the agent")
        refuse_while_ending(await self._book.get(number))
        if not await self._book.says_first(number, text, by, key):
            return "repeated"
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
        await self._queue.start_due()
        return "resumed"

    async def log(self, number: int, after: int, wait: float = 0, *, raw: bool = False) -> LogPage:
        """See `Runs.log`."""
        return await self._logs.page(number, after, wait, raw=raw)

    async def tail(self, number: int) -> LogPage:
        """See `Runs.tail`."""
        return await self._logs.tail(number)

    async def attach(self, number: int) -> Command:
        """See `Runs.attach`."""
        run = await self._book.get(number)
        if run.alive:
            raise RunConflict(
                f"run {number} is at work", hint=f"`upcall log -f {number}`, or cancel it first"
            )
        if not run.session:
            raise RunConflict(f"run {number} never told its session")
        return self._host.agents(run.agent).attach(self._host.session_of(run))

    async def prune(self, before: float) -> int:
        """Forget the runs that were over before then, with their folders; the number of runs."""
        return await self._cleanup.prune(before)

    async def resume_state(self, inquiry: str) -> Mapping[str, object] | None:
        """See `Runs.resume_state`."""
        return await self._recipients.resume_state(await self._book.store.get(inquiry))

    async def recipient(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """See `Runs.recipient`."""
        return await self._recipients.of(inquiry, awaited=awaited)

    def _run(self, number: int, order: Order, by: Caller, secret: str) -> Run:
        settings = self._host.settings
        # A run that is tried again has them already.
        given = () if order.retry_of else settings.arguments(order.agent)
        return Run(
            number=number,
            agent=order.agent,
            task=order.task,
            cwd=order.cwd,
            by=by.name,
            runner=self._host.runner,
            created_at=self._book.now(),
            permission=order.permission or settings.permission(order.agent),
            arguments=(*given, *order.arguments),
            token=digest(secret),
            retry_of=order.retry_of,
        )

    def _process_ended(self, run: Run) -> None:
        _ = self._tasks.add(self._after_process(run), f"what follows run {run.number}")

    async def _after_process(self, run: Run) -> None:
        if run.state is RunState.CANCELLED:
            await self._after_cancel(run)
        else:
            await self._worker.ended(run)
        await self._queue.look_again()

    async def _after_cancel(self, run: Run) -> None:
        await asyncio.to_thread(self._host.folder(run.number).forget_environment)
        await self._deliveries.cancel_open(run)

    def _session_ended(self, session: str) -> None:
        _ = self._tasks.add(self._worker.let_go(session), f"what follows {session}")
