"""The book of runs: each under its number, changed one atomic step at a time."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from upcall.domain.errors import RunConflict, UnknownRun
from upcall.domain.records import NOTHING, Effects, Record
from upcall.domain.run.run import KIND, Run, RunState, became, record_of, run_in
from upcall.ports.paging import each_record
from upcall.ports.store import Ledger

COUNTER = "counter"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Some runs and where the next ones begin."""

    items: tuple[Run, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A run as it shall be; `event` is what the log says of it, if anything, and `also` what else is written."""

    run: Run
    event: str = ""
    also: Effects = NOTHING


Decide = Callable[[Run], Step | None]
"""A pure rule; it may be run more than once for one step."""


class Book:
    """Reads and writes runs."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._clock = clock

    async def next_number(self) -> int:
        """A number that no run has or will have."""
        counted = await self._ledger.revise(COUNTER, KIND, _count)
        assert counted is not None  # it was written by this very step
        return int(str(counted.body["last"]))

    async def enter(self, run: Run, also: Effects = NOTHING) -> None:
        """Keep a new run."""
        await self._ledger.revise(
            KIND, str(run.number), lambda _: became(run, f"run_{run.state.value}", self._clock()) + also
        )

    async def get(self, number: int) -> Run:
        """One run.

        Raises:
            UnknownRun: if there is none of that number.
        """
        record = await self._ledger.look_up(KIND, str(number))
        if record is None:
            raise UnknownRun(number)
        return run_in(record)

    async def find(self, state: str | None = None, cursor: str | None = None, limit: int = 50) -> RunPage:
        """A page of runs, the newest first."""
        page = await self._ledger.records(KIND, state=state, cursor=cursor, limit=limit)
        return RunPage(items=tuple([run_in(record) for record in page.items]), next=page.next)

    async def each(self, state: str) -> AsyncIterator[Run]:
        """Every run in a state, the newest first."""
        async for record in each_record(self._ledger, KIND, state):
            yield run_in(record)

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
            return became(step.run, step.event, self._clock()) + step.also

        record = await self._ledger.revise(KIND, str(number), revise)
        if record is None:
            raise UnknownRun(number)
        return run_in(record), taken[0]


def _count(record: Record | None) -> Effects:
    last = 0 if record is None else int(str(record.body["last"]))
    return Effects(records=(Record(kind=COUNTER, key=KIND, body={"last": last + 1}),))


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
