"""Whatever crashes between two steps of a start, no session has two processes, and none is forgotten."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.house import ANA, a_house
from upcall.broker import Broker, Reply
from upcall.domain import resume
from upcall.domain.run import RunState
from upcall.runs.book import Book, Step
from upcall.runs.folder import RunFolder
from upcall.runs.keeper import BUSY, STALE
from upcall.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio
OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)


async def test_a_start_that_was_written_down_and_never_made_is_made_once(tmp_path: Path) -> None:
    """The daemon is gone after it said that it starts the session with the answer, and before it did."""
    async with a_house(tmp_path) as house:
        run = await house.until_session(await house.begin("tell(turn=True); hang()"))
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
    store = await SqliteStore.open(house.home.database_file)
    broker = Broker(store, follow_up=resume.consequences)
    assert (await broker.receive(asked.id, Reply(text="Red"), ANA)).accepted
    await Book(store, store.now).change(
        run.number,
        lambda now: Step(run=replace(now, alive=True, starts=now.starts + 1, state=RunState.RUNNING)),
    )
    await store.close()
    async with a_house(tmp_path) as house:
        over = await house.until_state(run, *OVER)
        assert (over.state, over.result) == (RunState.COMPLETED, "resumed")
        (heard,) = [str(line["heard"]) for line in house.output(run) if "heard" in line]
        assert "The user answered: Red" in heard
        assert house.folder(run).latest_start() == over.starts == 3


async def test_a_second_keeper_starts_nothing(tmp_path: Path) -> None:
    """Neither while the first is there, nor afterwards under a number that was used."""
    async with a_house(tmp_path) as house:
        run = await house.until_session(await house.begin("hang()"))
        assert keep(house.folder(run)) == BUSY
        assert len(house.processes()) == 1
        await house.runs.cancel(run.number, ANA)
        await house.until_state(run, *OVER)
        await house.until_let_go(run)
        assert keep(house.folder(run)) == STALE
        assert house.processes() == []


def keep(folder: RunFolder) -> int:
    return subprocess.run(
        [sys.executable, "-P", "-m", "upcall.runs.keeper", str(folder.path)], check=False, timeout=30
    ).returncode
