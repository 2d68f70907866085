"""What runs leave in memory when they are over: the same after twice as many."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.memory import ours
from tests.runs.house import ANA, House, a_house
from upcall.domain.run.run import RunState

pytestmark = pytest.mark.anyio
RUNS = 6
PATIENCE = 30.0


@pytest.mark.promise("trust/42")
async def test_twice_as_many_runs_leave_no_more_in_memory(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        await _work(house)
        once = ours(without_caches=True)
        await _work(house)
        deadline = time.monotonic() + PATIENCE
        # A keeper is let go of after its run is over.
        while (grown := _grown(once)) and time.monotonic() < deadline:  # noqa: ASYNC110 - objects have no event
            await asyncio.sleep(0.05)
        assert grown == {}


async def _work(house: House) -> None:
    """Runs that ask something, are cancelled or brought back with the answer, and end."""
    for _ in range(RUNS):
        waiting = await house.until_session(await house.begin("tell(turn=True); hang()"))
        await house.ask(waiting)
        await house.runs.cancel(waiting.number, ANA)
        ended = await house.begin("tell(turn=True); tell(result='done')")
        asked = await house.ask(ended)
        await house.until_state(ended, RunState.WAITING)
        await house.answer(asked)
        await house.until_state(waiting, RunState.CANCELLED)
        await house.until_state(ended, RunState.COMPLETED)


def _grown(once: Counter[str]) -> dict[str, tuple[int, int]]:
    now = ours(without_caches=True)
    return {name: (once[name], count) for name, count in now.items() if count >= once[name] + RUNS // 2}
