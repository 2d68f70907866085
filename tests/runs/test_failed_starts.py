"""A daemon that cannot start, because its disk is full at that moment, ends: the next one can."""

import asyncio
from pathlib import Path

import pytest

from upcall.broker.thread_queue import ThreadQueue
from upcall.config.settings import load
from upcall.daemon.wiring.assembly import assembled
from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.errors import StorageFull
from upcall.home.files import Home
from upcall.runs.queue import RunQueue

pytestmark = pytest.mark.anyio


@pytest.mark.promise("proof/28")
@pytest.mark.parametrize(
    ("part", "step"), [(ThreadQueue, "advance_all"), (RunQueue, "start_due"), (Dispatch, "start")]
)
async def test_nothing_that_a_failed_start_has_begun_outlives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: type, step: str
) -> None:
    async def fail(_: object) -> None:
        raise StorageFull("there is no room left")

    home = Home(tmp_path)
    home.create()
    config = load(home, {})
    monkeypatch.setattr(part, step, fail)
    before = asyncio.all_tasks()
    with pytest.raises(StorageFull):
        async with assembled(home, config, "http://127.0.0.1:1", lambda: config):
            pass
    assert asyncio.all_tasks() == before
