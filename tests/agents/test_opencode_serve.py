"""The real `opencode serve`, as the adapter starts it and the driver talks to it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import OPENCODE, Desk, need
from tests.agents.script import Call, Refuse, Say, say_back
from tests.agents.talking import Notes, OpenDesk, Talker, talking
from tests.agents.tasks import a_real_task, session_of
from upcall.agents.opencode.adapter import Opencode
from upcall.agents.opencode.api import Api
from upcall.agents.opencode.settings import password
from upcall.domain.run.program import (
    Action,
    Command,
    Finished,
    Permission,
    SessionSeen,
    Spent,
    Task,
    ToolReturned,
    TurnTaken,
)
from upcall.ports.agent import Driver

pytestmark = pytest.mark.anyio

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
ECHO = {"command": "echo done > done.txt", "description": "write a file"}
OPTIONS = [{"label": "pg", "description": "big"}, {"label": "sqlite", "description": "small"}]
NATIVE = {"questions": [{"question": "Which database?", "header": "DB", "options": OPTIONS}]}


@pytest.fixture
def agent() -> Opencode:
    need(OPENCODE)
    return Opencode(surroundings={})


@pytest.fixture
def task(desk: Desk, person: Person) -> Task:
    return a_real_task(desk, person, Permission.APPROVAL)


@pytest.fixture
def asked() -> OpenDesk:
    return OpenDesk()


@pytest.fixture
def notes() -> Notes:
    return Notes()


def a_driver(agent: Opencode, told: Any, message: str | None = None) -> Driver:
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


def the_action(about: Mapping[str, object] | Action) -> Action:
    assert isinstance(about, Action)
    return about


async def test_everything_that_a_session_wants_is_put_to_people(
    agent: Opencode, task: Task, model: Model, desk: Desk, person: Person, asked: OpenDesk, notes: Notes
) -> None:
    """One session after another in one server would take as long as all of this: starting it is what costs."""
    (desk.work / "opencode.json").write_text('{"permission": {"bash": {"*": "allow", "rm *": "deny"}}}')
    wanted = {"filePath": str(desk.work / "a.txt"), "content": "hello\n"}
    both = [{"command": f"echo {name} > {name}.txt", "description": name} for name in ("one", "two")]
    model.play(
        Call("question", NATIVE),
        Call("bash", ECHO),
        Call("write", wanted),
        [Call("bash", each) for each in both],
        Call("bash", {"command": "rm done.txt", "description": "denied for good"}),
        Call("ask_human", CACHE),
        Call("question", NATIVE),
        Say("Then I stop."),
    )
    async with driven(agent.start(task), desk, a_driver(agent, task), asked, notes) as process:
        await answers_its_question(asked)
        await decides_its_actions(asked, task, wanted)
        await decides_two_at_once(asked)
        # What the user denies for good is not asked about, and neither are our own tools.
        ours = await asyncio.to_thread(person.next_question, process)
        await asyncio.to_thread(person.answer, ours["ref"], "2")
        (await asked.next()).decline("The user declined to answer. Their reason: not today")

    told = [each.text for each in notes.of(ToolReturned)]
    heard = model.conversations[-1]
    assert "pg" in told[0]
    assert (desk.work / "done.txt").read_text() == "done\n"
    assert not (desk.work / "a.txt").exists()
    assert any("Use make instead." in result for result in heard.results)
    assert all((desk.work / f"{name}.txt").exists() for name in ("one", "two"))
    assert any("prevents you" in result for result in heard.results)
    assert any("The user answered: Memcached" in text for text in told)
    assert notes.of(ToolReturned)[-1].is_error
    assert "not today" in heard.prompts[-1]
    assert notes.of(Finished) == [Finished(ok=True, text="Then I stop.")]
    assert isinstance(notes.noticed[0], SessionSeen)
    assert notes.noticed[-1] == notes.of(Finished)[0]
    assert len(notes.of(TurnTaken)) == 8
    assert sum(each.output_tokens or 0 for each in notes.of(Spent)) == 7 * 8
    # What it is told about asking comes beside what opencode tells its models, not in its place.
    assert "call the tool ask_human" in model.conversations[0].system
    assert len(model.conversations[0].system) > 3000


async def answers_its_question(asked: OpenDesk) -> None:
    question = await asked.next()
    assert question.about == NATIVE
    assert question.key.startswith("que_")
    question.answer(("pg",))


async def decides_its_actions(asked: OpenDesk, task: Task, wanted: Mapping[str, object]) -> None:
    """The first is allowed and the second is not."""
    first = await asked.next()
    action = the_action(first.about)
    assert action.tool == "bash"
    assert {**action.input, **ECHO} == action.input
    assert action.cwd == task.cwd
    assert first.key.startswith("per_")
    first.decide(allowed=True)
    second = await asked.next()
    action = the_action(second.about)
    assert action.tool == "edit"
    assert {**action.input, **wanted} == action.input
    assert "+hello" in str(action.input["diff"])
    second.decide(allowed=False, reason="Use make instead.")


async def decides_two_at_once(asked: OpenDesk) -> None:
    both = [await asked.next(), await asked.next()]
    assert {the_action(each.about).input["command"] for each in both} == {
        "echo one > one.txt",
        "echo two > two.txt",
    }
    for each in reversed(both):
        each.decide(allowed=True)


async def test_a_question_is_still_open_for_the_next_driver_under_the_same_key(
    agent: Opencode, task: Task, model: Model, desk: Desk, asked: OpenDesk, notes: Notes
) -> None:
    model.play([Call("question", NATIVE)], Call("bash", ECHO), say_back)
    async with talking(agent.start(task), desk.environment) as process:
        first = asyncio.create_task(a_driver(agent, task).drive(process.console(), asked, notes))
        key = (await asked.next()).key
        first.cancel()
        await asyncio.wait([first])
        session = notes.of(SessionSeen)[0].id

        later, seen = OpenDesk(), Notes()
        second = a_driver(agent, session_of(task, session))
        work = asyncio.create_task(second.drive(process.console(), later, seen))
        again = await later.next()
        assert again.key == key
        again.answer(("sqlite",))
        permission = await later.next()
        work.cancel()
        await asyncio.wait([work])

        # A task with a session that no daemon had noted is found again too, and is not begun a second time.
        last, end = OpenDesk(), Notes()
        async with asyncio.TaskGroup() as group:
            group.create_task(a_driver(agent, task).drive(process.console(), last, end))
            rejoined = await last.next()
            assert rejoined.key == permission.key
            rejoined.decide(allowed=True)

    assert end.of(SessionSeen) == [SessionSeen(id=session)]
    assert end.of(Finished)[0].ok
    assert "sqlite" in model.conversations[-1].results[0]
    assert len(model.conversations[-1].prompts) == 1


async def test_a_killed_server_is_resumed_with_words_and_can_be_told_more(
    agent: Opencode, task: Task, model: Model, desk: Desk, asked: OpenDesk, notes: Notes
) -> None:
    model.play(Call("question", NATIVE), Call("bash", ECHO), Say("Done."))
    async with driven(agent.start(task), desk, a_driver(agent, task), asked, notes) as process:
        await asked.next()
        process.kill()
    assert notes.of(Finished) == []

    session = session_of(task, notes.of(SessionSeen)[0].id)
    message = "You asked: Which database? (pg, sqlite) The user answered: pg"
    driver, resumed = a_driver(agent, session, message), Notes()
    async with driven(agent.resume(session, message), desk, driver, asked, resumed):
        permission = await asked.next()
        assert await driver.say("Be quick.")
        permission.decide(allowed=True)

    assert model.conversations[1].prompts[-1] == message
    assert any("Be quick." in prompt for prompt in model.conversations[-1].prompts)
    assert resumed.of(Finished) == [Finished(ok=True, text="Done.")]
    assert not await driver.say("Too late.")


USED = {
    ("/session", "get"): (),
    ("/session", "post"): ("metadata", "permission"),
    ("/session/{sessionID}", "get"): (),
    ("/session/{sessionID}/message", "get"): (),
    ("/session/{sessionID}/prompt_async", "post"): ("parts", "system", "agent", "model", "variant"),
    ("/session/status", "get"): (),
    ("/agent", "get"): (),
    ("/config", "get"): (),
    ("/event", "get"): (),
    ("/question", "get"): (),
    ("/question/{requestID}/reply", "post"): ("answers",),
    ("/question/{requestID}/reject", "post"): (),
    ("/permission", "get"): (),
    ("/permission/{requestID}/reply", "post"): ("reply", "message"),
}
READ = {
    "QuestionRequest": ("id", "sessionID", "questions"),
    "PermissionRequest": ("id", "sessionID", "permission", "patterns", "metadata", "tool"),
    "ToolPart": ("id", "sessionID", "callID", "tool", "state"),
    "StepFinishPart": ("reason", "cost", "tokens"),
    "AssistantMessage": ("role", "error", "finish"),
    "Session": ("id", "metadata"),
    "Agent": ("name", "permission"),
    "PermissionRule": ("permission", "pattern", "action"),
}
HEARD = (
    "message.part.updated",
    "question.asked",
    "question.replied",
    "question.rejected",
    "permission.asked",
    "permission.replied",
    "session.error",
    "session.idle",
)


async def test_a_server_tells_what_went_wrong_and_describes_all_that_we_say_and_read(
    agent: Opencode, task: Task, model: Model, desk: Desk, asked: OpenDesk, notes: Notes
) -> None:
    gone, told = session_of(task, "ses_00000000000000000000000000"), Notes()
    async with talking(agent.resume(gone, "Go on"), desk.environment) as process:
        await a_driver(agent, gone, "Go on").drive(process.console(), asked, told)
        assert [(each.ok, each.reason) for each in told.of(Finished)] == [(False, "session_gone")]

        model.play(Refuse(400, "no such thing"))
        await a_driver(agent, task).drive(process.console(), asked, notes)
        assert [(each.ok, each.reason) for each in notes.of(Finished)] == [(False, "api_error_400")]
        assert "no such thing" in notes.of(Finished)[0].text

        line = await process.console().read()
        assert line is not None
        api = Api(line.split()[-1], password(task.door))
        described = await api.get("/doc")
        await api.close()
    assert undescribed(described) == []


def undescribed(document: Mapping[str, Any]) -> list[str]:
    """What we say to it, or read of it, that its own description does not have."""
    missing: list[str] = []
    for (path, method), fields in USED.items():
        body = document["paths"][path][method].get("requestBody", {})
        content = body["content"]["application/json"]["schema"] if body and fields else {}
        missing += [f"{path}: {name}" for name in set(fields) - set(content.get("properties", {}))]
    schemas = document["components"]["schemas"]
    for name, fields in READ.items():
        missing += [f"{name}: {each}" for each in set(fields) - set(schemas[name]["properties"])]
    events = str(schemas["Event"]) + "".join(
        str(schema.get("properties", {}).get("type")) for name, schema in schemas.items() if "Event" in name
    )
    return missing + [each for each in HEARD if f"'{each}'" not in events]
