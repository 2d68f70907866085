"""Real agents that speak the Agent Client Protocol, driven through it."""

import asyncio
import sys
from contextlib import suppress

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import GEMINI, OPENCODE, Desk, Program, need
from tests.agents.script import Call, Say
from tests.agents.talking import Notes, ScriptedDesk, Talker, talking
from upcall.agents.acp.adapter import Acp, AcpDriver
from upcall.domain.run.program import (
    Door,
    Finished,
    Noticed,
    Said,
    Session,
    SessionSeen,
    Spent,
    Task,
    ToolCalled,
    ToolReturned,
    TurnTaken,
    Verdict,
)

pytestmark = pytest.mark.anyio

PIPE = (sys.executable, "-m", "upcall", "mcp", "--wait", "block")
CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
TOUCH = {"command": "touch touched.txt", "description": "touch it"}
SHELL = {OPENCODE: "bash", GEMINI: "run_shell_command"}
AGENTS = {
    OPENCODE: Acp(("opencode", "acp"), name="opencode"),
    GEMINI: Acp(("gemini", "--acp"), name="gemini"),
}
every_agent = pytest.mark.parametrize("program", AGENTS, ids=lambda program: program.name)


def a_task(desk: Desk, person: Person, prompt: str = "Set up the cache.") -> Task:
    door = Door(command=PIPE, environment={"UPCALL_HOME": str(person.home.path)}, url="", token="")
    return Task(prompt=prompt, cwd=str(desk.work), door=door, session="")


def is_asking_first(desk: Desk) -> None:
    """Have opencode ask before it runs a command, which Gemini does by itself."""
    desk.environment["OPENCODE_PERMISSION"] = '{"bash": "ask"}'


async def question(person: Person, process: Talker) -> str:
    asked = await asyncio.to_thread(person.next_question, process)
    return str(asked["ref"])


@every_agent
async def test_an_agent_asks_and_does_only_what_is_allowed(
    program: Program, model: Model, desk: Desk, person: Person
) -> None:
    need(program)
    is_asking_first(desk)
    other = {**TOUCH, "command": "touch other.txt"}
    model.play(Call("ask_human", CACHE), Call(SHELL[program], TOUCH), Call(SHELL[program], other))
    model.follow(lambda _: Say("Fine."))
    agent, task, notes = AGENTS[program], a_task(desk, person), Notes()
    asked = ScriptedDesk(
        lambda action: Verdict(allowed="touched" in str(action.input), reason="Not on a Friday.")
    )
    async with talking(agent.start(task), desk.environment) as process, asyncio.TaskGroup() as group:
        driver = agent.driver(task, None)
        assert driver is not None
        group.create_task(driver.drive(process.console(), asked, notes))
        await asyncio.to_thread(person.answer, await question(person, process), "2")

    kinds: list[type[Noticed]] = [type(each) for each in notes.noticed]
    assert kinds[:4] == [SessionSeen, TurnTaken, ToolCalled, ToolReturned]
    assert "The user answered: Memcached" in notes.of(ToolReturned)[0].text
    assert "never guess" in model.conversations[0].prompts[-1]
    # The door's own tools need no approval, and everything else does.
    assert [action.tool for action in asked.actions] == ["execute", "execute"]
    assert "touch touched.txt" in str(asked.actions[0].input)
    assert asked.actions[0].cwd == str(desk.work)
    assert (desk.work / "touched.txt").exists()
    assert not (desk.work / "other.txt").exists()
    assert "Not on a Friday." in str(model.conversations[-1].prompts)
    assert sum(each.output_tokens or 0 for each in notes.of(Spent)) > 0
    assert notes.noticed[-1] == notes.of(Finished)[-1]
    assert notes.of(Finished)[-1].ok


async def test_an_agent_that_was_given_up_and_killed_is_resumed_and_told_the_answer(
    model: Model, desk: Desk, person: Person
) -> None:
    """It is told that its request was cancelled; what it replays of its session later is no news."""
    need(OPENCODE)
    model.play(Call("ask_human", CACHE), Say("Redis it is."))
    agent, task, notes = AGENTS[OPENCODE], a_task(desk, person), Notes()
    async with talking(agent.start(task), desk.environment) as process:
        driving = asyncio.create_task(AcpDriver(task).drive(process.console(), ScriptedDesk(), notes))
        await question(person, process)
        driving.cancel()
        with suppress(asyncio.CancelledError):
            await driving
        assert driving.cancelled()
        assert '"session/cancel"' in process.written[-1]
        process.kill()
    assert notes.of(Finished) == []

    later = await told_later(agent, task, notes, desk, "You asked which cache. Answer: Redis")

    assert later.of(SessionSeen) == notes.of(SessionSeen)
    assert later.of(Finished) == [Finished(ok=True, text="Redis it is.")]
    assert [said.text for said in later.of(Said)] == ["Redis it is."]
    assert later.of(ToolCalled) == []
    assert "Answer: Redis" in model.conversations[-1].prompts[-1]
    assert any("Set up the cache." in prompt for prompt in model.conversations[-1].prompts)


async def told_later(agent: Acp, task: Task, before: Notes, desk: Desk, message: str) -> Notes:
    """What a second process does with the session of the first."""
    session = Session(id=before.of(SessionSeen)[0].id, cwd=task.cwd, door=task.door)
    notes = Notes()
    async with talking(agent.resume(session, message), desk.environment) as process:
        await AcpDriver(session, message).drive(process.console(), ScriptedDesk(), notes)
    return notes
