"""The records of runs: each under its number, changed one atomic step at a time."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from upcall.domain.errors import KeyConflict, RunConflict, UnknownRun
from upcall.domain.records import NOTHING, Effects, Record
from upcall.domain.roles import Caller
from upcall.domain.run.program import LastWords
from upcall.domain.run.run import KIND, Order, Run, RunState, became, record_of, run_in
from upcall.ports.paging import each_record
from upcall.ports.runs import RunPage
from upcall.ports.store import Store

COUNTER = "counter"
KEY = "run_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A run as it shall be; `event` is what the log says of it, if anything, and `also` what else is written."""

    run: Run
    event: str = ""
    also: Effects = NOTHING


Decide = Callable[[Run], Step | None]
"""A pure rule; it may be run more than once for one step."""


class Book:
    """Reads and writes runs. `runner` is the name of this machine, and `now` the clock of the store."""

    def __init__(self, store: Store, runner: str, now: Callable[[], float]) -> None:
        self.store = store
        self.runner = runner
        self.now = now

    async def next_number(self) -> int:
        """A number that no run has or will have."""
        counted = await self.store.revise(COUNTER, KIND, _count)
        assert counted is not None  # it was written by this very step
        return int(str(counted.body["last"]))

    async def enter(self, run: Run, also: Effects = NOTHING) -> None:
        """Keep a new run."""
        await self.store.revise(KIND, str(run.number), lambda _: self._entered(run) + also)

    async def enter_once(self, run: Run, by: Caller, order: Order) -> bool:
        """Keep a new run and the request key of its order in one step; False if another request with that key came first."""
        if not order.request_key:
            await self.enter(run)
            return True
        name = _key_of(by, order)
        body = {"run": run.number, "digest": _digest(order)}
        known = Record(kind=KEY, key=name, state=str(run.number), at=run.created_at, body=body)
        forgotten = await self.started_under(by, order) is None
        before = await self.store.look_up(KEY, name) if forgotten else None

        def decide(kept: Record | None) -> Effects | None:
            if kept is not None and (before is None or kept.body != before.body):
                return None
            return self._entered(run) + Effects(records=(known,))

        kept = await self.store.revise(KEY, name, decide)
        return kept is not None and kept.body["run"] == run.number

    async def says_first(self, number: int, text: str, by: Caller, key: str) -> bool:
        """Whether a person says these words to a run for the first time under a key; always so without one."""
        if not key:
            return True
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        name = f"{by.name}:say:{number}:{key}:{digest[:16]}"
        known = Record(kind=KEY, key=name, state=str(number), at=self.now(), body={"run": number})
        is_first = False

        def decide(kept: Record | None) -> Effects | None:
            nonlocal is_first
            is_first = kept is None
            return Effects(records=(known,)) if is_first else None

        await self.store.revise(KEY, name, decide)
        return is_first

    async def started_under(self, by: Caller, order: Order) -> Run | None:
        """The run that was started under the request key of this order; None if there is none, or it is forgotten.

        Raises:
            KeyConflict: if the key was used for something else.
        """
        if not order.request_key:
            return None
        kept = await self.store.look_up(KEY, _key_of(by, order))
        if kept is None:
            return None
        if kept.body["digest"] != _digest(order):
            raise KeyConflict(order.request_key)
        try:
            return await self.get(int(str(kept.body["run"])))
        except UnknownRun:
            return None

    async def get(self, number: int) -> Run:
        """One run.

        Raises:
            UnknownRun: if there is none of that number.
        """
        record = await self.store.look_up(KIND, str(number))
        if record is None:
            raise UnknownRun(number)
        return run_in(record)

    async def find(self, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        """A page of runs, the newest first."""
        page = await self.store.records(KIND, state=state, cursor=cursor, limit=limit)
        return RunPage(items=tuple([run_in(record) for record in page.items]), next=page.next)

    async def each(self, state: str) -> AsyncIterator[Run]:
        """Every run in a state, the newest first."""
        async for record in each_record(self.store, KIND, state):
            yield run_in(record)

    async def own(self, *states: RunState) -> list[Run]:
        """The runs of this machine in these states, the newest of each state first."""
        return [run for state in states async for run in self.each(state) if run.runner == self.runner]

    async def newest_alive(self, agent: str) -> Run | None:
        """The newest run of an agent that has a process on this machine."""
        alive = [run for run in await self.own(RunState.RUNNING, RunState.WAITING) if run.alive]
        return next((run for run in alive if run.agent == agent), None)

    async def change(self, number: int, decide: Decide) -> tuple[Run, bool]:
        """Take a step; the run afterwards, and whether there was one.

        Raises:
            UnknownRun: if there is none of that number.
        """
        taken: list[bool] = []

        def revise(record: Record | None) -> Effects | None:
            if record is None:
                raise UnknownRun(number)
            step = decide(run_in(record))
            taken[:] = [step is not None]
            if step is None:
                return None
            if not step.event:
                return Effects(records=(record_of(step.run),)) + step.also
            return became(step.run, step.event, self.now()) + step.also

        record = await self.store.revise(KIND, str(number), revise)
        if record is None:
            raise UnknownRun(number)
        return run_in(record), taken[0]

    def _entered(self, run: Run) -> Effects:
        return became(run, f"run_{run.state.value}", self.now())


def _count(record: Record | None) -> Effects:
    last = 0 if record is None else int(str(record.body["last"]))
    return Effects(records=(Record(kind=COUNTER, key=KIND, body={"last": last + 1}),))


def _key_of(by: Caller, order: Order) -> str:
    """The name of a request key in the store: two people may use the same key."""
    return f"{by.name}:{order.request_key}"


def _digest(order: Order) -> str:
    """What must be the same when a key is used again. The environment may differ from one shell to the next."""
    said = [order.agent, order.task.strip(), order.cwd, order.permission, order.arguments]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "replace")).hexdigest()


def refuse_while_ending(run: Run) -> None:
    """Take no message for a run that is about to end.

    Raises:
        RunConflict: if it is.
    """
    if run.alive and run.ending:
        raise RunConflict(
            f"run {run.number} was cancelled by {run.ending} and is about to end",
            hint="say it again when it has ended: that brings the run back",
        )


def waiting_again(run: Run) -> Step | None:
    """The step of a run that has ended and waits for its answer once more."""
    if run.alive:
        return None
    return Step(run=replace(run, state=RunState.WAITING, reason="", ended_at=None), event="run_waiting")


def with_a_process(run: Run, now: float, *, resumes: bool, says: bool) -> Step | None:
    """The step of a run that gets a new process; None if it has one, or is to end.

    With `says`, the process is told the messages that people have left for the run.
    """
    if run.alive or run.ending:
        return None
    said = run.messages if says else ()
    going = replace(
        run,
        alive=True,
        starts=run.starts + 1,
        state=RunState.RUNNING,
        reason="",
        deferred="",
        exit_code=None,
        ended_at=None,
        started_at=run.started_at or now,
        words=LastWords(),
        messages=() if said else run.messages,
        saying=said,
    )
    return Step(run=going, event="run_resumed" if resumes else "run_started")
