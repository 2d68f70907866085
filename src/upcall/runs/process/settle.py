"""The end of a process: the question that it left in its text, and how its run stands afterwards."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from upcall.domain.run.api_errors import awaited
from upcall.domain.run.program import LOST_TOUCH, Asked, Deferred, Finished, LastWords
from upcall.domain.run.resume import RESTARTED
from upcall.domain.run.run import Run, RunState
from upcall.ports.agent import Desk
from upcall.runs.book import Step
from upcall.runs.process.keeper import CANNOT_START

UNANSWERED = {"expired": "input_timeout", "failed": "input_timeout", "cancelled": "input_cancelled"}
"""The reason with which a run fails that waited for a person, by how its question ended."""

ASK_AGAIN = (1.0, 2.0, 5.0, 15.0)
"""Seconds before each further try to ask while the store or a rate limit does not permit it; the last one from then on."""

REPEATED = "question_repeated"

log = logging.getLogger("upcall.runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """All that is known about the end of a process. `waits` says that a person's word is still to come, or on its way.

    `never_began` says that there was no process at all, so no model has read its message. `unanswered` is why no
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
    """The run after its process has ended, decided from the exit code and the program's own last word only."""
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
        # A person has spoken to the run meanwhile: the next process is told at once.
        return Step(run=replace(over, state=RunState.QUEUED), event="run_queued")
    if problem is None:
        return _ended(over, RunState.COMPLETED, "", now)
    return _ended(over, RunState.FAILED, problem, now)


def put_back(waits: bool, run: Run) -> Step | None:  # noqa: FBT001 - a fact, not an option
    """The run as it was before its latest start, which was never made; None if the run was cancelled meanwhile."""
    if run.ending:
        return None
    before = replace(run, alive=False, messages=(*run.saying, *run.messages), saying=())
    if waits and not before.messages:
        return Step(run=replace(before, state=RunState.WAITING), event="run_waiting")
    return Step(run=replace(before, state=RunState.QUEUED), event="run_queued")


async def ask_text_question(
    desk: Desk, asked: Asked, run: Run, is_ending: Callable[[], Awaitable[bool]]
) -> str:
    """Ask the question that a process has left in its text; the reason with which the run fails if no answer can come.

    The turn is over, so no call waits: the answer resumes the run. A failure of the store and a rate limit pass: the
    question is asked after that, if need be by the next daemon.
    """
    tries = 0
    while True:
        outcome = await desk.ask(asked.fields, f"text:{run.number}:{run.starts}", wait=0)
        if outcome.id:
            return UNANSWERED.get(outcome.status, REPEATED)
        log.warning("run %s: the question in its text was not asked: %s", run.number, outcome.text)
        if not outcome.again or await is_ending():
            return f"question_not_asked: {outcome.text}"
        await asyncio.sleep(ASK_AGAIN[min(tries, len(ASK_AGAIN) - 1)])
        tries += 1


def _ended(run: Run, state: RunState, reason: str, now: float) -> Step:
    return Step(run=replace(run, state=state, reason=reason, ended_at=now), event=f"run_{state.value}")


def _problem(ending: Ending) -> str | None:
    """Why the process failed, if it did. A program that we ended after its last word is taken at that word."""
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
