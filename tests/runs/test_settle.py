"""How a run stands after the end of its process."""

from dataclasses import replace

from upcall.domain.run.program import LOST_TOUCH, Finished
from upcall.domain.run.resume import RESTARTED
from upcall.domain.run.run import Run, RunState
from upcall.runs.process.keeper import CANNOT_START
from upcall.runs.process.settle import Ending, settled

RUN = Run(
    number=1,
    agent="gemini",
    task="Tidy up",
    cwd="/srv",
    by="ana",
    runner="here",
    created_at=0.0,
    state=RunState.RUNNING,
    session="s-1",
    starts=1,
    alive=True,
    messages=("Use the new API.",),
)
LOST = Finished(ok=False, reason=LOST_TOUCH)


def test_work_that_a_restart_has_cut_off_goes_on_in_a_new_process() -> None:
    """And hears first why, then what people have said meanwhile."""
    after = settled(RUN, Ending(code=0, finished=LOST), 5.0).run
    assert (after.state, after.messages) == (RunState.QUEUED, (RESTARTED, "Use the new API."))


def test_work_that_a_restart_has_cut_off_waits_for_the_answer_that_it_wanted() -> None:
    after = settled(RUN, Ending(code=0, finished=LOST, waits=True), 5.0).run
    assert (after.state, after.messages) == (RunState.WAITING, RUN.messages)


def test_what_a_process_that_never_began_was_to_be_told_is_kept_for_the_next_one() -> None:
    """But that is not tried at once: it would end in the same way."""
    told = replace(RUN, saying=("First this.",))
    after = settled(told, Ending(code=CANNOT_START, never_began=True), 5.0).run
    assert (after.state, after.reason) == (RunState.FAILED, "cannot_start")
    assert (after.saying, after.messages) == ((), ("First this.", "Use the new API."))


def test_a_run_that_waits_says_what_became_of_its_process() -> None:
    after = settled(RUN, Ending(code=-9, waits=True), 5.0).run
    assert (after.state, after.reason) == (RunState.WAITING, "signal SIGKILL")
