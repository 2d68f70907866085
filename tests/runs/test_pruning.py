"""Runs that have been over for long are forgotten, with their folders, and only those."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.files.news import until
from tests.runs.house import House, a_house
from upcall.approvals import remarks
from upcall.approvals.remarks import Remarks
from upcall.domain.errors import UnknownRun
from upcall.domain.records import Effects, Record
from upcall.domain.run.program import Action
from upcall.domain.run.resume import RESUME
from upcall.domain.run.run import Run, RunState

pytestmark = pytest.mark.anyio
OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
MONTH = 30 * 24 * 3600.0


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


async def test_what_was_over_long_ago_is_forgotten_with_its_folder(house: House) -> None:
    old = await finished(house)
    young = await finished(house)
    waiting = await house.until_session(await house.begin("hang()"))
    delivery = Record(kind=RESUME, key="i", state="failed", at=old.created_at, body={"run": old.number})
    await house.store.revise(RESUME, "i", lambda _: Effects(records=(delivery,)))
    for run in (old, waiting):
        age(house, run)
    before = (old.ended_at or 0) + 0.001
    assert await house.runs.prune(before) == 1
    with pytest.raises(UnknownRun):
        await house.runs.get(old.number)
    assert not house.folder(old).path.exists()
    assert await house.store.look_up(RESUME, "i") is None
    for run in (young, waiting):
        assert (await house.runs.get(run.number)).number == run.number
        assert house.folder(run).path.is_dir()
    assert await house.runs.prune(before) == 0


async def test_a_folder_that_is_locked_or_new_stays(house: House) -> None:
    """A person may have taken the session over, and a run has its folder before it is in the book."""
    run = await finished(house)
    await house.until_let_go(run)
    age(house, run)
    new = house.home.path / "runs" / "77"
    new.mkdir()
    before = house.broker.now()
    os.utime(new, (before + 1, before + 1))
    with house.folder(run).locked() as held:
        assert held
        age(house, run)
        assert await house.runs.prune(before) == 1
        assert house.folder(run).path.is_dir()
    age(house, run)
    assert await house.runs.prune(before) == 0
    assert not house.folder(run).path.exists()
    assert new.is_dir()


async def test_a_folder_that_cannot_be_removed_keeps_no_other(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs = [await finished(house), await finished(house)]
    for run in runs:
        await house.until_let_go(run)
        age(house, run)
    remove, refused = shutil.rmtree, house.folder(runs[0]).path

    def refuse_one(path: Path) -> None:
        if path == refused:
            raise PermissionError(13, "of another user", str(path))
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", refuse_one)
    assert await house.runs.prune(house.broker.now()) == 2
    assert [folder.path for folder in map(house.folder, runs) if folder.path.exists()] == [refused]
    assert "cannot be removed" in caplog.text


async def test_words_for_an_action_that_never_ran_are_forgotten(house: House) -> None:
    store, now = house.broker.store, house.broker.now()
    for session, at in (("old", now - MONTH), ("new", now)):
        action = Action(tool="Bash", input={"command": "make"}, cwd="/repo")
        await Remarks(store, "builder", session, partial(float, at)).keep(action, "only once")
    await house.runs.prune(now - MONTH / 2)
    left = (await store.records(remarks.KIND, limit=10)).items
    assert [record.at for record in left] == [now]


async def finished(house: House) -> Run:
    """A run that is over, of which the daemon has written the last state into its folder."""
    run = await house.until_state(await house.begin("tell(result='ok')"), *OVER)
    folder = house.folder(run).path
    await asyncio.to_thread(until, folder, lambda: written_state(folder) == run.state.value or None)
    return run


def written_state(folder: Path) -> object:
    file = folder / "state.json"
    return json.loads(file.read_text())["status"] if file.exists() else None


def age(house: House, run: Run) -> None:
    """Make a folder look as if it had not changed for a month."""
    then = house.broker.now() - MONTH
    os.utime(house.folder(run).path, (then, then))
