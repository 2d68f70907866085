"""Gemini CLI: how it is started, and the real program as the adapter starts it and the driver talks to it."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pytest
from typing_extensions import override

from tests.agents.model_server import PATIENCE, Model
from tests.agents.person import Person
from tests.agents.programs import GEMINI, Desk, need
from tests.agents.script import Call, Conversation, Say, Turn
from tests.agents.talking import Notes, OpenDesk, Talker, talking
from tests.agents.tasks import a_real_task
from upcall.agents.gemini.adapter import Gemini, patient
from upcall.domain.run.program import Action, Command, Finished, Permission, ToolReturned
from upcall.ports.agent import Driver
from upcall.testing.agent_contract import DOOR, SESSION, CommandContract, a_session, a_task

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
TOUCH = {"command": "touch touched.txt", "description": "touch it"}
OTHER = {"command": "touch other.txt", "description": "touch another"}


class TestGemini(CommandContract):
    """Its messages are those of the protocol, and read by the reader of that."""

    freedoms: ClassVar[tuple[str, ...]] = ("yolo",)
    good_version: ClassVar[str] = "0.61.0"
    bad_version: ClassVar[str | None] = "0.9.4"

    @override
    def agent(self) -> Gemini:
        return Gemini()


def test_the_command_lines_are_these() -> None:
    agent, more = Gemini(), ("-m", "gemini-2.5-pro")
    held = ("gemini", *more, "--acp", "--approval-mode", "default")
    assert agent.start(a_task(arguments=more)).argv == held
    assert agent.resume(a_session(arguments=more), "Go on").argv == (*held, "--resume", SESSION)
    free = agent.start(a_task(permission=Permission.AUTONOMOUS))
    assert free.argv == ("gemini", "--acp", "--approval-mode", "yolo")
    assert agent.attach(a_session()).argv == ("gemini", "--resume", SESSION)


def test_calls_are_parked_before_gemini_gives_them_up() -> None:
    assert patient(DOOR).command == ("/opt/upcall/bin/upcall", "mcp", "--wait", "540")


@pytest.fixture
def agent() -> Gemini:
    need(GEMINI)
    return Gemini()


def a_driver(agent: Gemini, told: Any, message: str | None = None) -> Driver:
    driver = agent.driver(told, message)
    assert driver is not None
    return driver


@asynccontextmanager
async def driven(
    command: Command, desk: Desk, driver: Driver, asked: OpenDesk, notes: Notes
) -> AsyncIterator[Talker]:
    """A process that is talked to until its work is over."""
    async with talking(command, desk.environment) as process, asyncio.TaskGroup() as group:
        group.create_task(driver.drive(process.console(), asked, notes))
        yield process


def waiting_on(heard: Conversation, told_to_wait: threading.Event) -> Turn:
    """A model that was told that there is no answer yet, and waits again, as often as it takes."""
    parked = re.search(r'wait_for_answer with id "([^"]+)"', heard.results[-1])
    if parked is not None:
        told_to_wait.set()
        return Call("wait_for_answer", {"id": parked[1]})
    done = len(heard.results) - heard.results.index(next(r for r in heard.results if "Memcached" in r)) - 1
    rest: tuple[Turn, ...] = (
        Call("run_shell_command", TOUCH),
        Call("run_shell_command", OTHER),
        Say("I go on."),
    )
    return rest[done]


@pytest.mark.anyio
async def test_it_waits_for_longer_than_one_call_may_take_and_does_only_what_is_approved(
    agent: Gemini, model: Model, desk: Desk, person: Person
) -> None:
    """Gemini's own limit cannot be moved over this protocol, so ours, which ends a call before it, is made short."""
    task = a_real_task(desk, person, Permission.APPROVAL)
    task = replace(task, door=replace(task.door, wait=1.0))
    model.play(Call("ask_human", CACHE))
    told_to_wait = threading.Event()
    model.follow(partial(waiting_on, told_to_wait=told_to_wait))
    asked, notes = OpenDesk(), Notes()
    async with driven(agent.start(task), desk, a_driver(agent, task), asked, notes) as process:
        question = await asyncio.to_thread(person.next_question, process)
        assert await asyncio.to_thread(told_to_wait.wait, PATIENCE)
        await asyncio.to_thread(person.answer, question["ref"], "2")
        first = await asked.next()
        assert isinstance(first.about, Action)
        assert "touch touched.txt" in str(first.about)
        first.decide(allowed=True)
        (await asked.next()).decide(allowed=False, reason="Use make instead.")

    told = [each.text for each in notes.of(ToolReturned)]
    assert "No answer yet" in told[0]
    assert any("The user answered: Memcached" in text for text in told[1:])
    assert (desk.work / "touched.txt").exists()
    assert not (desk.work / "other.txt").exists()
    assert any("Use make instead." in prompt for prompt in model.conversations[-1].prompts)
    assert notes.of(Finished)[-1].ok
