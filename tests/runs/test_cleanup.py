"""The variables that a run was given are removed when they are not needed any more."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.files.news import is_gone
from tests.runs.house import ANA, House, a_house
from upcall.domain.run.run import Run, RunState
from upcall.runs.cleanup import KEPT_FOR

pytestmark = pytest.mark.anyio
VARIABLES = {"PATH": "/usr/bin:/bin", "API_KEY": "sk-secret"}
DONE = "tell(turn=True); tell(result='done')"


async def test_they_are_removed_a_day_after_the_end_of_the_run(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        over = await house.until_state(await house.begin(DONE, environment=VARIABLES), RunState.COMPLETED)
        waits = await house.until_session(await house.begin("hang()", environment=VARIABLES))
        await house.ask(waits)
        ended_at = over.ended_at or 0.0
    async with a_house_after_cleanup(tmp_path, ended_at + KEPT_FOR - 60) as house:
        assert _kept(house, over)
        assert _kept(house, waits)
    async with a_house_after_cleanup(tmp_path, ended_at + KEPT_FOR + 60) as house:
        assert not _kept(house, over)
        # A run that still waits for its answer needs them, whenever that comes.
        assert _kept(house, waits)


async def test_they_are_removed_when_a_run_at_work_is_cancelled(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        run = await house.until_session(await house.begin("hang()", environment=VARIABLES))
        asked = await house.ask(run)
        assert _kept(house, run)
        await house.runs.cancel(run.number, ANA)
        # Its questions are cancelled after its variables are gone.
        assert (await house.broker.wait(asked, 30)).state_name == "cancelled"
        assert not _kept(house, run)


async def test_they_are_removed_when_a_run_is_cancelled_before_it_began(tmp_path: Path) -> None:
    async with a_house(tmp_path, limit=0) as house:
        run = await house.begin(DONE, environment=VARIABLES)
        assert _kept(house, run)
        await house.runs.cancel(run.number, ANA)
        assert not _kept(house, run)


def _kept(house: House, run: Run) -> bool:
    return (house.folder(run).path / "environment.json").exists()


@asynccontextmanager
async def a_house_after_cleanup(path: Path, now: float) -> AsyncIterator[House]:
    """A daemon that has cleaned up once at this time, which it ends with handovers that were never finished."""
    unfinished = path / "home" / "handed" / ".q1.json.7"
    unfinished.parent.mkdir(exist_ok=True)
    unfinished.touch()
    os.utime(unfinished, (0, 0))
    async with a_house(path, clock=lambda: now) as house:
        # A task without an observer, seen by what it removes.
        await asyncio.to_thread(is_gone, unfinished)
        yield house
