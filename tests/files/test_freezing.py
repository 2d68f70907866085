"""Files that a container puts into its group's folder do not hold up the daemon's loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adversary.freezing import tasks
from tests.adversary.heartbeat import held_up, settled_heap
from tests.files.door import PATIENCE, serving
from tests.files.news import is_gone, put
from upcall.broker.broker import Policy


@pytest.fixture(autouse=True)
def heap() -> Iterator[None]:
    with settled_heap():
        yield


@pytest.mark.promise("trust/17")
async def test_no_task_holds_up_the_loop(tmp_path: Path) -> None:
    held: dict[str, float] = {}
    async with serving(tmp_path, policy=Policy(block_timeout=0.01)) as served:
        for name, task in tasks():

            async def taken(task: bytes = task) -> None:
                async with asyncio.timeout(PATIENCE):
                    put(served.group, "r1.json", task)
                    for inside in ("tasks", "taken"):
                        await asyncio.to_thread(is_gone, served.group / inside / "r1.json")
                (served.group / "responses" / "r1.json").unlink(missing_ok=True)

            if longest := await held_up(taken):
                held[name] = longest
    assert held == {}
