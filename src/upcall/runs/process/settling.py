"""How a run stands once one of its processes has ended: decided from its exit code and its own last word only."""

import signal
from dataclasses import dataclass, replace

from upcall.domain.run.api_errors import awaited
from upcall.domain.run.program import LOST_TOUCH, Deferred, Finished, LastWords
from upcall.domain.run.resume import RESTARTED
from upcall.domain.run.run import Run, RunState
from upcall.runs.book import Step
from upcall.runs.process.keeper import CANNOT_START


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """All that is known about the end of a process. `waits` says that a person's word is still to come, or on its way.

    `never_began` says that there was no process at all, so its message was heard by no model. `unanswered` is why no
    answer can come to the question in its text, unless the run waits.
    """

    code: int
    finished: Finished | None = None
    deferred: Deferred | None = None
    waits: bool = False
    ended_by_us: bool = False
    never_began: bool = False
    unanswered: str = ""

    @property
    def went_well(self) -> bool:
        """Whether the program did what it was started for."""
        return _problem(self) is None


def settled(run: Run, ending: Ending, now: float) -> Step:
    """The run after its process has ended."""
    over = replace(
        run,
        alive=False,
        tool="",
        saying=(),
        messages=(*run.saying, *run.messages) if ending.never_began else run.messages,
        words=LastWords(),
        exit_code=ending.code,
        deferred="" if ending.deferred is None else ending.deferred.id,
        result=run.result if ending.finished is None else ending.finished.text,
    )
    if run.ending:
        return _ended(over, RunState.CANCELLED, f"cancelled by {run.ending}", now)
    problem = _problem(ending)
    is_refused = problem is not None and awaited(problem) is not None
    over = replace(
        over, refusals=run.refusals + 1 if is_refused else 0, refused_at=now if is_refused else None
    )
    if ending.waits:
        return Step(run=replace(over, state=RunState.WAITING, reason=problem or ""), event="run_waiting")
    if ending.finished is not None and ending.finished.reason == LOST_TOUCH and run.session:
        over = replace(over, messages=(RESTARTED, *run.messages))
    if over.messages and run.session and not ending.never_began:
        # Somebody had something to say meanwhile: it is told at once.
        return Step(run=replace(over, state=RunState.QUEUED), event="run_queued")
    if problem is None:
        return _ended(over, RunState.COMPLETED, "", now)
    return _ended(over, RunState.FAILED, problem, now)


def _ended(run: Run, state: RunState, reason: str, now: float) -> Step:
    return Step(run=replace(run, state=state, reason=reason, ended_at=now), event=f"run_{state.value}")


def _problem(ending: Ending) -> str | None:
    """Why it failed, if it did. A program that was ended by us after its last word is taken at that word."""
    if ending.finished is not None and not ending.finished.ok:
        return ending.finished.reason or "agent_error"
    if ending.unanswered and not ending.waits:
        return ending.unanswered
    if ending.finished is not None and ending.ended_by_us:
        return None
    if ending.code == 0:
        return None
    if ending.code == CANNOT_START:
        return "cannot_start"
    if ending.code < 0:
        known = {each.value: each.name for each in signal.Signals}
        return f"signal {known.get(-ending.code, -ending.code)}"
    return f"exit_code {ending.code}"
