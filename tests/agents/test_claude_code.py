"""The real Claude Code with everything in one command line: our door, its own questions, its permission prompts."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.agents.dialect import PROMPT_TOKENS, REPLY_TOKENS, Json
from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, Desk
from tests.agents.script import Call, Conversation, Say, say_back
from tests.agents.work import Work
from tests.doors.house import AGENT_TOKEN, PATIENCE, House
from upcall.access.tokens import digest
from upcall.agents.claude.adapter import TOOLS, ClaudeCode
from upcall.agents.prompt import ASKING
from upcall.broker.broker import Reply
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller, Role
from upcall.domain.run.program import (
    Command,
    Deferred,
    Door,
    Finished,
    Noticed,
    Permission,
    Session,
    SessionSeen,
    Spent,
    Task,
    ToolReturned,
)

SESSION = "3f0e6a52-8f5d-4c8e-9d59-7b1f6f0d2a11"
TOKEN = "upcall_run_of_claude"
RUN = Caller(name="claude", role=Role.AGENT, run=1)
CACHE: Json = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
DATABASE: Json = {
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
            command=(sys.executable, "-m", "upcall", "mcp"),
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

    def put_down(self) -> None:
        """End the daemon for good: the pipe starts no other one."""
        self.house.home.write_private(self.house.home.down_mark, "")
        self.house.stop(end=True)

    def wait_for_transcript(self, words: str) -> None:
        """Claude Code writes its sessions down a little later than it acts, and does not say when."""
        deadline = time.monotonic() + PATIENCE
        while not any(
            words in file.read_text() for file in self._desk.home.glob(f".claude/projects/*/{SESSION}.jsonl")
        ):
            assert time.monotonic() < deadline, f"{words!r} is in no transcript"
            time.sleep(0.01)

    def start(self, prompt: str) -> Work:
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


@pytest.mark.promise("pynchy/1")
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


@pytest.mark.promise("spec/112")
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


@pytest.mark.promise("raised/19", "raised/21")
def test_of_a_command_that_a_person_edits_that_and_nothing_else_runs(
    supervisor: Supervisor, model: Model
) -> None:
    work_tree = supervisor.made.parent
    for name in ("build", "dist"):
        (work_tree / name).mkdir()
        (work_tree / name / "kept").touch()
    # The second call fails: its model is told as well.
    model.play(
        Call("Bash", {"command": "rm -rf build dist", "description": "Clean up"}),
        Call("Bash", {"command": "touch missing/file", "description": "Make it"}),
        say_back,
    )
    work = supervisor.start("Clean up.")
    inquiry = supervisor.asked()
    edited = {"command": "rm -rf build", "description": "Clean up"}
    supervisor.house.reply(inquiry.id, Reply(text="yes", input=edited, note="dist is released from"))
    (second,) = supervisor.house.opened()
    supervisor.house.reply(second.id, Reply(text="yes", note="in this folder only"))
    assert end_of(supervisor.read(work)).ok, work.report()

    assert not (work_tree / "build").exists()
    assert (work_tree / "dist" / "kept").exists()
    told = "\n".join(model.conversations[-1].prompts + model.conversations[-1].results)
    assert "The user changed this action before they approved it" in told
    assert "-rm -rf build dist\n+rm -rf build" in told
    assert "with a note: dist is released from" in told
    assert "with a note: in this folder only" in told


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
    (deferred,) = [each for each in noticed if isinstance(each, Deferred)]
    assert (deferred.id, deferred.name) == (inquiry.origin.request_key, "AskUserQuestion")
    assert not any(isinstance(each, Finished) for each in noticed)
    assert work.finish().code == 0

    still_open = supervisor.resume(None)
    assert Deferred(id=deferred.id, name=deferred.name, input=deferred.input) in supervisor.read(still_open)
    assert len(model.conversations) == 1

    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint")
    again = supervisor.resume(None)
    noticed = supervisor.read(again)
    assert result_in(noticed).id == inquiry.origin.request_key
    assert '"Which database?"="SQLite"' in result_in(noticed).text
    assert end_of(noticed).ok, again.report()
    assert len(model.conversations) == 2


def test_of_two_questions_at_once_one_is_put_and_the_other_told_to_wait(
    supervisor: Supervisor, model: Model
) -> None:
    one, two = ({"questions": [question]} for question in DATABASE["questions"])
    model.play([Call("AskUserQuestion", one), Call("AskUserQuestion", two)], say_back)
    work = supervisor.start("Set up the database.")
    # With the first one answered already, the other would be put, too.
    work.wait_for(lambda event: event["type"] == "user")
    supervisor.house.answer(supervisor.asked().id, "1")
    results = [each for each in supervisor.read(work) if isinstance(each, ToolReturned)]
    assert sorted(result.is_error for result in results) == [False, True]
    assert any("Ask one at a time" in result.text for result in results)


def test_without_a_daemon_its_question_is_refused_and_not_let_through(
    supervisor: Supervisor, model: Model
) -> None:
    def ask_nobody(_: Conversation) -> Call:
        supervisor.put_down()
        return Call("AskUserQuestion", DATABASE)

    model.play(ask_nobody, say_back)
    noticed = supervisor.read(supervisor.start("Set up the database."))
    assert result_in(noticed).is_error
    assert "hook" in result_in(noticed).text
    assert end_of(noticed).ok


def test_without_a_daemon_no_command_is_allowed(supervisor: Supervisor, model: Model) -> None:
    def act_alone(_: Conversation) -> Call:
        supervisor.put_down()
        return Call("Bash", {"command": "touch 'made here'", "description": "Make it"})

    model.play(act_alone, say_back)
    noticed = supervisor.read(supervisor.start("Make the file."))
    assert result_in(noticed).is_error
    assert not supervisor.made.exists()


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ask_human"])
def test_after_a_kill_it_goes_on_with_a_message(tool: str, supervisor: Supervisor, model: Model) -> None:
    model.play(Call(tool, DATABASE), Say("Then SQLite it is."))
    work = supervisor.start("Set up the database.")
    inquiry = supervisor.asked()
    supervisor.wait_for_transcript(inquiry.origin.request_key or "")
    work.kill()
    work.finish()
    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint")
    noticed = supervisor.read(supervisor.resume("The answer is SQLite."))
    assert noticed[0] == SessionSeen(id=SESSION)
    assert end_of(noticed).text == "Then SQLite it is."
    assert "The answer is SQLite." in model.conversations[-1].prompts[-1]


@pytest.mark.promise("trust/69")
def test_the_hook_of_the_manual_asks_about_each_command_of_a_session_of_ones_own(
    house: House, desk: Desk, model: Model
) -> None:
    """Claude Code names no call there, and a person decides each one all the same."""
    manual = (Path(__file__).parents[2] / "docs/agents-claude.md").read_text("utf-8")
    hook = json.loads(manual.partition("```json\n")[2].partition("```")[0])
    hook["hooks"]["PermissionRequest"][0]["hooks"][0]["url"] = f"{house.url}/hooks/claude"
    first, second = desk.work / "first", desk.work / "second"
    model.play(
        Call("Bash", {"command": f"touch '{first}'", "description": "Make a file"}),
        Call("Bash", {"command": f"touch '{second}'", "description": "Make another file"}),
        Say("Done."),
    )
    flags = ("-p", "--output-format", "stream-json", "--verbose", "--settings", json.dumps(hook))
    work = desk.start(CLAUDE, *flags, stdin="Make both files.", UPCALL_TOKEN=AGENT_TOKEN)
    (shown,) = house.opened()
    assert str(first) in shown.questions[0].text
    house.answer(shown.id, "yes")
    house.answer(asked_after(house, shown).id, "no")
    assert work.finish().code == 0
    assert (first.exists(), second.exists()) == (True, False)


def asked_after(house: House, earlier: Inquiry) -> Inquiry:
    """The question that is open once another one is settled."""
    (found,) = [each for each in house.opened() if each.id != earlier.id]
    return found


def test_a_subagent_asks_through_our_door(supervisor: Supervisor, model: Model) -> None:
    task = {"description": "Choose", "prompt": "Ask which cache.", "subagent_type": "general-purpose"}
    model.play(Call("Agent", task), Call("ask_human", CACHE), say_back, say_back)
    work = supervisor.start("Let a subagent set up the cache.")
    inquiry = supervisor.asked()
    supervisor.house.answer(inquiry.id, "1")
    noticed = supervisor.read(work)
    (result,) = [
        each for each in noticed if isinstance(each, ToolReturned) and each.id == inquiry.origin.request_key
    ]
    assert "The user answered: Redis" in result.text
    assert "The user answered: Redis" in end_of(noticed).text


@pytest.mark.promise("spec/112")
def test_autonomous_it_acts_without_asking_and_still_asks_its_questions(
    supervisor: Supervisor, model: Model
) -> None:
    supervisor.permission = Permission.AUTONOMOUS
    act = Call("Bash", {"command": "touch 'made here'", "description": "Make it"})
    model.play(act, Call("AskUserQuestion", DATABASE), say_back)
    work = supervisor.start("Make the file, then ask.")
    inquiry = supervisor.asked()
    assert inquiry.origin.purpose == "question"
    assert supervisor.made.exists()
    supervisor.house.answer(inquiry.id, "1) SQLite\n2) lint")
    assert end_of(supervisor.read(work)).ok


@pytest.mark.promise("spec/65")
def test_the_model_is_offered_our_tools_and_nothing_that_nobody_could_answer(
    supervisor: Supervisor, model: Model
) -> None:
    model.play(Say("Nothing to do."))
    work = supervisor.start("Look around.")
    assert end_of(supervisor.read(work)).ok
    offered = {tool.name for tool in model.conversations[0].tools}
    assert offered >= {"AskUserQuestion", *(f"mcp__upcall__{name}" for name in TOOLS)}
    listed = set(work.events[0]["tools"])
    assert "mcp__upcall__approve_action" not in listed
    assert ASKING in model.conversations[0].system


def test_each_process_counts_only_what_it_spent_itself(supervisor: Supervisor, model: Model) -> None:
    model.play(Say("One."), Say("Two."))
    noticed = [supervisor.read(supervisor.start("First."))]
    noticed += [supervisor.read(supervisor.resume("Second."))]
    spent = [[each for each in process if isinstance(each, Spent)] for process in noticed]
    for process in spent:
        assert sum(each.input_tokens or 0 for each in process) == PROMPT_TOKENS
        assert sum(each.output_tokens or 0 for each in process) == REPLY_TOKENS
    costs = [sum(each.cost or 0 for each in process) for process in spent]
    assert costs[0] > 0
    assert costs[0] == pytest.approx(costs[1])


def test_a_session_that_is_gone_is_told_as_such(supervisor: Supervisor, model: Model) -> None:
    noticed = supervisor.read(supervisor.resume("Go on."))
    assert end_of(noticed) == Finished(
        ok=False,
        text=f"No conversation found with session ID: {SESSION}",
        reason="session_gone",
    )
    assert not model.requests
