"""After a crash between any two steps of a start, no session has two processes, and none is forgotten."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.runs.house import ANA, a_house
from upcall.broker.broker import Broker, Reply
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run import resume
from upcall.domain.run.run import Run, RunState
from upcall.runs.book import Book, Step
from upcall.runs.deliveries import Deliveries
from upcall.runs.process import host, supervise
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.keeper import BUSY, STALE, keeper_command, start_keeper
from upcall.runs.resume import MOST_ATTEMPTS
from upcall.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio
OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)


async def test_a_start_that_was_written_down_and_never_made_is_made_once(tmp_path: Path) -> None:
    """The daemon is gone after it said that it starts the session with the answer, and before it did."""
    run, _ = await a_dead_run_with_an_answer(tmp_path)
    store = await SqliteStore.open(tmp_path / "home/upcall.db")
    await Book(store, "here", store.now).change(
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


@pytest.mark.promise("proof/26")
@pytest.mark.parametrize("before", ["start", "_launch"], ids=["is written down", "is made"])
async def test_attempts_that_daemons_do_not_survive_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Daemons end, one after the other, before a start is written down, or before it is made."""
    monkeypatch.setattr("upcall.runs.resume.PAUSES", (0.0,))
    run, asked = await a_dead_run_with_an_answer(tmp_path)
    for _ in range(MOST_ATTEMPTS + 1):
        await end_a_daemon_before(before, tmp_path, run)
    async with a_house(tmp_path) as house:
        over = await house.until_state(run, *OVER)
        assert (over.state, over.result) == (RunState.COMPLETED, "resumed")
        told = await house.runs.resume_state(asked.id)
        assert told is not None
        assert (told["state"], told["attempts"]) == ("done", 1)


@pytest.mark.promise("proof/26")
async def test_what_ends_every_daemon_is_given_up_in_plain_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.runs.resume.MOST_CUT_OFF", 2)
    run, _ = await a_dead_run_with_an_answer(tmp_path)
    for _ in range(2):
        await end_a_daemon_before("start", tmp_path, run)
    async with a_house(tmp_path) as house:
        failed = await house.until_state(run, *OVER)
        assert failed.reason == "resume_failed: the daemon ended 2 times before it began"
        assert (await house.runs.retry(run.number, ANA)).number == run.number
        assert (await house.until_state(run, RunState.COMPLETED)).result == "resumed"


async def a_dead_run_with_an_answer(folder: Path) -> tuple[Run, Inquiry]:
    """A session that has ended, and the answer to its question, given while no daemon resumes it."""
    async with a_house(folder) as house:
        run = await house.until_session(await house.begin("tell(turn=True); hang()"))
        asked = await house.ask(run)
        os.kill(house.processes()[0], signal.SIGKILL)
        await house.until(run, lambda current: not current.alive)
    store = await SqliteStore.open(house.home.database_file)
    broker = Broker(store, follow_up=resume.consequences)
    assert (await broker.receive(asked.id, Reply(text="Red"), ANA)).accepted
    await store.close()
    return run, asked


async def end_a_daemon_before(step: str, folder: Path, run: Run) -> None:
    """Let a daemon come to a step of the supervisor, and no further; the next daemon knows at once that it is gone."""
    reached = asyncio.Event()

    async def end_here(*_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervise.Supervisor, step, end_here)
        async with a_house(folder) as house:
            async with asyncio.timeout(30):
                await reached.wait()
            await house.store.hasten(resume.RESUME, resume.subject(run.number), 0)


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


async def test_a_run_whose_keeper_cannot_be_started_fails_after_a_few_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when what is installed was replaced under the daemon by something that does not work."""
    keepers = Keepers(broken=4)
    monkeypatch.setattr(host, "start_keeper", keepers.start)
    monkeypatch.setattr(supervise, "KEEPER_AGAIN", (0.0, 0.0, 0.0))
    async with a_house(tmp_path) as house:
        run = await house.begin("tell(result='done')")
        over = await house.until_state(run, *OVER)
        assert (over.state, over.reason, over.starts) == (RunState.FAILED, "cannot_start", 1)
        assert keepers.tries == 4
        assert [event.type for event in await house.store.events(0)] == [
            "run_queued",
            "run_started",
            "run_failed",
        ]
        again = await house.until_state(await house.runs.retry(run.number, ANA), *OVER)
        assert (again.state, again.result) == (RunState.COMPLETED, "done")


async def test_a_run_is_started_once_its_keeper_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of keepers does not take its process for lost meanwhile."""
    keepers = Keepers(broken=1)
    monkeypatch.setattr(host, "start_keeper", keepers.start)
    monkeypatch.setattr(supervise, "CHECK_EVERY", 0.01)
    monkeypatch.setattr(supervise, "KEEPER_AGAIN", (0.2,))
    async with a_house(tmp_path) as house:
        over = await house.until_state(await house.begin("tell(result='late')"), *OVER)
        assert (over.state, over.result, over.starts) == (RunState.COMPLETED, "late", 1)
        assert keepers.tries == 2


async def test_a_run_whose_keeper_cannot_be_started_is_cancelled_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "start_keeper", Keepers(broken=sys.maxsize).start)
    monkeypatch.setattr(supervise, "KEEPER_AGAIN", itertools.repeat(0.02))
    async with a_house(tmp_path) as house:
        run = await house.begin("hang()")
        await house.runs.cancel(run.number, ANA)
        over = await house.until_state(run, *OVER)
        assert (over.state, over.reason) == (RunState.CANCELLED, "cancelled by ana")


async def test_a_run_that_is_cancelled_while_it_goes_back_in_line_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "start_keeper", lambda home, folder: STALE)
    async with a_house(tmp_path) as house:

        async def cancelled_meanwhile(deliveries: Deliveries, run: Run) -> bool:
            if not (await house.runs.get(run.number)).ending:
                await house.runs.cancel(run.number, ANA)
            return False

        monkeypatch.setattr(Deliveries, "waits", cancelled_meanwhile)
        over = await house.until_state(await house.begin("hang()"), *OVER)
        assert (over.state, over.reason) == (RunState.CANCELLED, "cancelled by ana")


@dataclass
class Keepers:
    """Starts keepers as ever, after a number of tries that end as for an interpreter that finds no such module."""

    broken: int
    tries: int = 0

    def start(self, home: Path, folder: RunFolder) -> int:
        self.tries += 1
        return 1 if self.tries <= self.broken else start_keeper(home, folder)


def keep(folder: RunFolder) -> int:
    return subprocess.run(keeper_command(folder), check=False, timeout=30).returncode
