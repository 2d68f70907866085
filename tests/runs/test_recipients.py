"""What happens to an answer, as it is told at the moment at which it is given."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.house import House, a_house
from upcall.domain.inquiry.inquiry import Inquiry

pytestmark = [pytest.mark.anyio, pytest.mark.promise("trust/71")]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


async def told(house: House, asked: Inquiry, *, awaited: bool = False) -> dict[str, Any]:
    recipient = await house.runs.recipient(await house.answer(asked), awaited=awaited)
    assert recipient is not None
    return dict(recipient)


async def test_a_call_that_waits_is_told(house: House) -> None:
    asked = await house.ask_as({"program": ""})
    assert (await told(house, asked, awaited=True))["to"] == "call"


async def test_an_agent_at_work_gets_it_when_it_asks_again(house: House) -> None:
    run = await house.until_session(await house.begin("hang()"))
    assert await told(house, await house.ask(run)) == {"to": "agent", "run": 1, "command": None}


async def test_a_run_that_has_ended_is_brought_back(house: House) -> None:
    run = await house.until_session(await house.begin("hang()"))
    asked = await house.ask(run)
    os.kill(house.processes()[0], signal.SIGKILL)
    await house.until(run, lambda current: not current.alive)
    assert await told(house, asked) == {"to": "run", "run": 1, "command": None}


async def test_a_session_of_ones_own_is_brought_back_once_its_pipe_is_gone(house: House) -> None:
    origin = {"program": "plain", "session": "s-1", "workspace": str(house.work)}
    house.held.connect("plain:s-1")
    assert (await told(house, await house.ask_as(origin)))["to"] == "agent"
    house.held.disconnect("plain:s-1")
    assert (await told(house, await house.ask_as(origin, "And now?")))["to"] == "run"


async def test_an_asker_that_is_gone_is_said_to_be_with_how_to_go_on(house: House) -> None:
    """It never told its session, so a person has to choose it."""
    origin = {"program": "plain", "session": "plain", "workspace": str(house.work)}
    asked = await house.ask_as(origin)
    house.held.start_asking(asked.id)
    assert (await told(house, asked))["to"] == "agent"
    house.held.stop_asking([asked.id])
    recipient = await told(house, await house.ask_as(origin, "And now?"))
    assert recipient["to"] == "gone"
    assert recipient["command"].startswith(f"cd {house.work} && ")
    assert await house.store.jobs("resume", "session:plain:plain") == []


async def test_an_asker_elsewhere_is_told_there(house: House) -> None:
    asked = await house.ask_as({"program": "plain", "session": "s-1", "runner": "elsewhere"})
    assert (await told(house, asked))["to"] == "runner"


async def test_of_an_asker_over_http_only_its_next_call_tells(house: House) -> None:
    asked = await house.ask_as({"door": "rest", "runner": ""})
    assert (await told(house, asked))["to"] == "kept"
