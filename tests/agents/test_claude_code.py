"""The real Claude Code with everything in one command line: our door, its own questions, its permission prompts."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, Desk
from tests.agents.script import Call, Say, say_back
from tests.agents.work import Work
from tests.doors.house import PERSON, House
from upcall.access import digest
from upcall.agents.claude_code import ClaudeCode
from upcall.broker import Policy
from upcall.domain.inquiry import Inquiry
from upcall.domain.program import (
    Command,
    Deferred,
    Door,
    Finished,
    Noticed,
    Permission,
    Session,
    SessionSeen,
    Task,
    ToolReturned,
)
from upcall.domain.roles import Caller, Role

SESSION = "3f0e6a52-8f5d-4c8e-9d59-7b1f6f0d2a11"
TOKEN = "upcall_run_of_claude"
RUN = Caller(name="claude", role=Role.AGENT, run=1)
CACHE = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
DATABASE = {
    "questions": [
        {
            "question": "Which database?",
            "header": "DB",
            "multiSelect": False,
            "options": [
                {"label": "Postgres", "description": ""},
                {"label": "SQLite", "description": "a file"},
            ],
        },
        {
            "question": "Which checks?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "lint", "description": ""}, {"label": "tests", "description": ""}],
        },
    ]
}


class Supervisor:
    """Starts what the adapter describes, and reads it."""

    def __init__(self, house: House, desk: Desk) -> None:
        self.house = house
        self._desk = desk
        self._agent = ClaudeCode()
        self.permission = Permission.APPROVAL

    @property
    def door(self) -> Door:
        return Door(
            command=(sys.executable, "-m", "upcall", "mcp", "--wait", "block"),
            environment={"UPCALL_HOME": str(self.house.home.path), "UPCALL_TOKEN": TOKEN},
            url=self.house.url,
            token=TOKEN,
        )

    @property
    def made(self) -> Path:
        """What a command makes, if it runs."""
        return self._desk.work / "made here"

    def restart(self) -> None:
        """Another daemon at the same address."""
        self.house.stop()
        self.house.start()
        self.house.access.lend(digest(TOKEN), RUN)

    def start(self, prompt: str, stop: bool = False) -> Work:
        door = self.door
        if stop:
            self.house.stop()
        task = Task(
            prompt=prompt,
            cwd=str(self._desk.work),
            door=self.door,
            session=SESSION,
            permission=self.permission,
        )
        return self._begin(self._agent.start(task))

    def resume(self, message: str | None) -> Work:
        session = Session(id=SESSION, cwd=str(self._desk.work), door=self.door, permission=self.permission)
        return self._begin(self._agent.resume(session, message))

    def read(self, work: Work) -> list[Noticed]:
        """Everything that is noticed in what a process wrote until its end."""
        reader = self._agent.reader()
        events = work.finish().events
        return [noticed for event in events for noticed in reader.notice(json.dumps(event))]

    def asked(self) -> Inquiry:
        """The one question that is open, once there is one."""
        (inquiry,) = self.house.opened()
        return inquiry

    def _begin(self, command: Command) -> Work:
        assert command.cwd == str(self._desk.work)
        return self._desk.start(CLAUDE, *command.argv[1:], stdin=command.stdin, **command.environment)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "upcall")
    house.start()
    house.access.lend(digest(TOKEN), RUN)
    yield house
    house.stop()


@pytest.fixture
def supervisor(house: House, desk: Desk) -> Supervisor:
    return Supervisor(house, desk)


def result_in(noticed: Sequence[Noticed]) -> ToolReturned:
    """What the last tool came to."""
    return [each for each in noticed if isinstance(each, ToolReturned)][-1]


def end_of(noticed: Sequence[Noticed]) -> Finished:
    (end,) = [each for each in noticed if isinstance(each, Finished)]
    return end


def test_what_it_asks_through_our_door_is_answered(supervisor: Supervisor, model: Model) -> None:
    model.play(Call("ask_human", CACHE), say_back)
    work = supervisor.start("Set up the cache.")
    inquiry = supervisor.asked()
    assert (inquiry.origin.session, inquiry.origin.run) == (SESSION, 1)
    supervisor.house.answer(inquiry.id, "2")
    noticed = supervisor.read(work)
    assert noticed[0] == SessionSeen(id=SESSION)
    assert "The user answered: Memcached" in result_in(noticed).text
    assert end_of(noticed).ok


def test_its_own_question_tool_is_answered_through_the_hook(supervisor: Supervisor, model: Model) -> None:
    model.play(Call("AskUserQuestion", DATABASE), say_back)
    work = supervisor.start("Set up the database.")
    inquiry = supervisor.asked()
    assert inquiry.origin.door == "claude-hook"
    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint, tests")
    noticed = supervisor.read(work)
    assert '"Which database?"="SQLite"' in result_in(noticed).text
    assert '"Which checks?"="lint, tests"' in result_in(noticed).text
    assert end_of(noticed).ok, work.report()


def test_a_command_runs_once_a_person_has_seen_and_allowed_it(supervisor: Supervisor, model: Model) -> None:
    model.play(Call("Bash", {"command": "touch 'made here'", "description": "Make it"}), say_back)
    work = supervisor.start("Make the file.")
    inquiry = supervisor.asked()
    assert inquiry.origin.purpose == "permission"
    assert "touch 'made here'" in inquiry.questions[0].text
    assert not supervisor.made.exists()
    supervisor.house.answer(inquiry.id, "yes")
    assert end_of(supervisor.read(work)).ok, work.report()
    assert supervisor.made.exists()


def test_a_command_that_was_denied_does_not_run(supervisor: Supervisor, model: Model) -> None:
    model.play(Call("Bash", {"command": "touch 'made here'", "description": "Make it"}), say_back)
    work = supervisor.start("Make the file.")
    supervisor.house.answer(supervisor.asked().id, "no")
    noticed = supervisor.read(work)
    assert "The user denied this" in result_in(noticed).text
    assert end_of(noticed).ok, work.report()
    assert not supervisor.made.exists()


def test_a_question_that_nobody_answers_in_time_ends_the_process_and_is_answered_by_resuming(
    supervisor: Supervisor, model: Model
) -> None:
    supervisor.house.hook_wait = 0.5
    supervisor.restart()
    model.play(Call("AskUserQuestion", DATABASE), say_back)
    work = supervisor.start("Set up the database.")
    inquiry = supervisor.asked()
    noticed = supervisor.read(work)
    print(work.report())
    (deferred,) = [each for each in noticed if isinstance(each, Deferred)]
    assert (deferred.id, deferred.name) == (inquiry.origin.request_key, "AskUserQuestion")
    assert not any(isinstance(each, Finished) for each in noticed)
    assert work.finish().code == 0

    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint")
    again = supervisor.resume(None)
    noticed = supervisor.read(again)
    print(again.report())
    assert '"Which database?"="SQLite"' in result_in(noticed).text
    assert end_of(noticed).ok
    assert len(model.conversations) == 2


def test_without_a_daemon_its_question_is_refused_and_not_let_through(
    supervisor: Supervisor, model: Model
) -> None:
    model.play(Call("AskUserQuestion", DATABASE), say_back)
    work = supervisor.start("Set up the database.", stop=True)
    noticed = supervisor.read(work)
    print(work.report())
    assert result_in(noticed).is_error


def test_after_a_kill_it_goes_on_with_a_message(supervisor: Supervisor, model: Model) -> None:
    model.play(Call("AskUserQuestion", DATABASE), Say("Then SQLite it is."))
    work = supervisor.start("Set up the database.")
    inquiry = supervisor.asked()
    work.kill()
    work.finish()
    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint")
    noticed = supervisor.read(supervisor.resume("The answer is SQLite."))
    assert noticed[0] == SessionSeen(id=SESSION)
    assert end_of(noticed).text == "Then SQLite it is."
    assert "The answer is SQLite." in model.conversations[-1].prompts[-1]


def test_a_subagent_asks_through_our_door(supervisor: Supervisor, model: Model) -> None:
    task = {"description": "Choose", "prompt": "Ask which cache.", "subagent_type": "general-purpose"}
    model.play(Call("Task", task), Call("ask_human", CACHE), say_back, say_back)
    work = supervisor.start("Let somebody set up the cache.")
    supervisor.house.answer(supervisor.asked().id, "1")
    noticed = supervisor.read(work)
    print(work.report())
    assert "Redis" in end_of(noticed).text
