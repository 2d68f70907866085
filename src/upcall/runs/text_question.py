"""The question that a process has left in its text, asked once the process has ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from upcall.domain.run.program import Asked
from upcall.domain.run.run import Run
from upcall.ports.agent import Desk
from upcall.runs.questions import UNANSWERED

AGAIN = (1.0, 2.0, 5.0, 15.0)
"""Seconds before each further try to ask while the store or a rate limit does not permit it; the last one from then on."""

REPEATED = "question_repeated"

log = logging.getLogger("upcall.runs")


async def ask(desk: Desk, asked: Asked, run: Run, is_ending: Callable[[], Awaitable[bool]]) -> str:
    """Put the question to people; the reason with which the run fails if no answer can come of that.

    The turn is over, so no call waits for the answer, which brings the run back. A store that fails and a rate limit pass:
    the question is asked after that, by the next daemon if need be.
    """
    tries = 0
    while True:
        outcome = await desk.ask(asked.fields, f"text:{run.number}:{run.starts}", wait=0)
        if outcome.id:
            return UNANSWERED.get(outcome.status, REPEATED)
        log.warning("run %s: the question in its text was not asked: %s", run.number, outcome.text)
        if not outcome.again or await is_ending():
            return f"question_not_asked: {outcome.text}"
        await asyncio.sleep(AGAIN[min(tries, len(AGAIN) - 1)])
        tries += 1
