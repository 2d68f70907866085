"""The real `opencode run`, as the adapter starts it."""

import json
from collections.abc import Iterator

import pytest

from tests.agents import samples
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import OPENCODE, Desk, need
from tests.agents.script import Call, Say, say_back
from tests.agents.tasks import a_real_task, begin, session_of
from tests.agents.work import Work
from upcall.agents.opencode.adapter import Opencode
from upcall.domain.run.program import (
    Command,
    Finished,
    Noticed,
    Permission,
    Said,
    SessionSeen,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
)

CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}


@pytest.fixture
def agent() -> Opencode:
    need(OPENCODE)
    return Opencode(surroundings={})


@pytest.fixture
def working() -> Iterator[list[Work]]:
    started: list[Work] = []
    yield started
    for work in started:
        work.close()


def read(agent: Opencode, work: Work) -> list[Noticed]:
    reader = agent.reader()
    return [noticed for line in work.lines for noticed in reader.notice(line)]


def of(noticed: list[Noticed], kind: type[Noticed]) -> list[Noticed]:
    return [each for each in noticed if isinstance(each, kind)]


def start(desk: Desk, command: Command, working: list[Work]) -> Work:
    work = begin(desk, command)
    working.append(work)
    return work


def test_a_question_outlasts_the_limit_that_opencode_has_for_others_and_everything_is_noticed(
    agent: Opencode, model: Model, desk: Desk, person: Person, working: list[Work]
) -> None:
    file = desk.home / ".config/opencode/opencode.json"
    settings = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(settings | {"experimental": {"mcp_timeout": 3000}}), "utf-8")
    model.play(Call("bash", {"command": "echo hi", "description": "x"}), Call("ask_human", CACHE), say_back)
    work = start(desk, agent.start(a_real_task(desk, person, Permission.AUTONOMOUS)), working)
    question = person.next_question(work)
    person.let_pass(4)
    person.answer(question["ref"], "2")
    assert work.finish().code == 0, work.report()

    noticed = read(agent, work)
    assert isinstance(noticed[0], SessionSeen)
    assert len(of(noticed, TurnTaken)) == 3
    assert [each.name for each in noticed if isinstance(each, ToolCalled)] == ["bash", "upcall_ask_human"]
    returned = [each.text for each in noticed if isinstance(each, ToolReturned)]
    assert returned[0].strip() == "hi"
    assert "The user answered: Memcached" in returned[1]
    assert sum(each.output_tokens or 0 for each in noticed if isinstance(each, Spent)) == 21
    assert of(noticed, Said)
    assert isinstance(noticed[-1], Finished)
    assert noticed[-1].ok
    assert "Memcached" in noticed[-1].text
    # What it was told about asking, and that it was not offered a question tool without an answer.
    assert "ask_human" in model.conversations[0].prompts[-1]
    assert "question" not in {tool.name for tool in model.conversations[0].tools}


def test_a_killed_agent_goes_on_with_the_answer_it_was_waiting_for(
    agent: Opencode, model: Model, desk: Desk, person: Person, working: list[Work]
) -> None:
    model.play(Call("ask_human", CACHE), Say("Then it is Redis."))
    task = a_real_task(desk, person, Permission.AUTONOMOUS)
    work = start(desk, agent.start(task), working)
    person.next_question(work)
    work.wait_for(lambda event: event["type"] == "step_start")
    work.kill()
    work.finish()
    seen = next(each for each in read(agent, work) if isinstance(each, SessionSeen))

    message = "You asked: Which cache? (Redis, Memcached) The user answered: Redis"
    resumed = start(desk, agent.resume(session_of(task, seen.id), message), working)
    assert resumed.finish().code == 0, resumed.report()
    assert model.conversations[-1].prompts[-1] == message
    assert "Set up the cache." in model.conversations[-1].prompts[0]
    end = read(agent, resumed)[-1]
    assert end == Finished(ok=True, text="Then it is Redis.")
    # As it was when its samples were taken.
    for process, sample in ((work, "opencode-killed"), (resumed, "opencode-resumed")):
        assert samples.kinds(process.lines) == samples.kinds(samples.read(sample))


def test_a_session_that_is_gone_ends_the_process_with_an_error(
    agent: Opencode, desk: Desk, person: Person, working: list[Work]
) -> None:
    task = a_real_task(desk, person, Permission.AUTONOMOUS)
    gone = session_of(task, "ses_00000000000000000000000000")
    work = start(desk, agent.resume(gone, "Go on"), working)
    assert work.finish().code != 0
