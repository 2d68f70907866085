"""Any command as an agent: filled in to the letter, read for what was agreed on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from typing_extensions import override

from tests.agents.talking import Notes
from upcall.agents.command.adapter import SEARCHED_CHARACTERS, CommandAgent
from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import Asked, Noticed, Said, SessionSeen, Unreadable
from upcall.ports.agent import Agent
from upcall.testing.agent_contract import CWD, DOOR, SESSION, AgentContract, a_session, a_task

PATTERN = r"session: (\S+)"
MARKED = '<<UPCALL_QUESTION>> {"question": "Which cache?"} <</UPCALL_QUESTION>>'


class TestCommandAgent(AgentContract):
    speaks_mcp = False
    attachable = False
    sample = ("Hello.", "session: s-1", "Working …", MARKED)
    session = "s-1"
    tells: ClassVar[tuple[type[Noticed], ...]] = (SessionSeen, Asked)

    @override
    def agent(self) -> Agent:
        return CommandAgent(
            ("mybot", "--task={task}"),
            resume=("mybot", "--resume", "{session}", "--message={message}"),
            session_pattern=PATTERN,
            marker="UPCALL_QUESTION",
        )


class TestCommandAgentOnStandardInput(TestCommandAgent):
    writes = ("initial.json",)

    @override
    def agent(self) -> Agent:
        return CommandAgent(
            ("mybot", "-"),
            resume=("mybot", "--resume", "{session}"),
            resume_file="initial.json",
            session_pattern=PATTERN,
            marker="UPCALL_QUESTION",
        )


@pytest.mark.promise("spec/197")
def test_places_are_filled_in_once_and_only_ours() -> None:
    agent = CommandAgent(("mybot", "{cwd}/{session}:{task}", "{other}"), resume=("mybot", "{message}{task}"))

    begun = agent.start(a_task(prompt="{session} {message}"))
    resumed = agent.resume(a_session(), "{cwd}")

    assert begun.argv == ("mybot", f"{CWD}/{SESSION}:{{session}} {{message}}", "{other}")
    assert resumed.argv == ("mybot", "{cwd}")
    assert (begun.stdin, resumed.stdin) == ("", "")


def test_upcall_works_inside() -> None:
    environment = CommandAgent(("mybot",)).start(a_task()).environment

    assert environment == {**DOOR.environment, "UPCALL_URL": DOOR.url, "UPCALL_TOKEN": DOOR.token}


def test_without_a_marker_the_task_is_the_task_and_nothing_else() -> None:
    assert CommandAgent(("mybot", "{task}")).start(a_task(prompt="Do it")).argv == ("mybot", "Do it")
    told = CommandAgent(("mybot", "{task}"), marker="GZA_QUESTION").start(a_task(prompt="Do it")).argv[1]
    assert told.startswith("Do it\n\n")
    assert "<<GZA_QUESTION>>" in told


@pytest.mark.promise("spec/197")
def test_a_file_takes_the_message() -> None:
    def files(name: str) -> dict[str, str]:
        agent = CommandAgent(("mybot",), resume=("mybot",), resume_file=name)
        return dict(agent.resume(a_session(), 'Use "Redis"').files)

    assert json.loads(files("initial.json")["initial.json"]) == {
        "session_id": SESSION,
        "message": 'Use "Redis"',
    }
    assert files("answer.txt") == {"answer.txt": 'Use "Redis"'}


def test_one_that_was_not_told_how_cannot_be_resumed() -> None:
    with pytest.raises(InvalidRequest) as refused:
        CommandAgent(("mybot",), name="mybot").resume(a_session(), "Go on")

    assert "[agents.mybot]" in str(refused.value.hint)


@pytest.mark.promise("spec/197")
def test_a_session_is_told_once_and_a_question_asked_once() -> None:
    reader = CommandAgent(("mybot",), session_pattern=PATTERN, marker="UPCALL_QUESTION").reader()
    half = len(MARKED) // 2
    lines = ["session: a", "session: b", "<<UPCALL_QUESTION>>", "{", '"question": "Which cache?"', "}"]
    lines += ["<</UPCALL_QUESTION>>", MARKED[:half], MARKED[half:]]

    noticed = [each for line in lines for each in reader.notice(line) if not isinstance(each, Said)]

    assert noticed == [SessionSeen(id="a"), Asked(fields={"question": "Which cache?"})]


@pytest.mark.promise("gza/37")
def test_a_marker_with_something_else_inside_is_a_warning() -> None:
    reader = CommandAgent(("mybot",), marker="UPCALL_QUESTION").reader()

    (noticed,) = reader.notice("<<UPCALL_QUESTION>> {oops} <</UPCALL_QUESTION>>")

    assert isinstance(noticed, Unreadable)
    assert "not JSON" in noticed.line


def test_a_pattern_is_not_tried_on_a_whole_long_line() -> None:
    reader = CommandAgent(("mybot",), session_pattern=PATTERN).reader()

    long = "x" * SEARCHED_CHARACTERS + " session: a"
    assert list(reader.notice(long)) == [Said(text=long)]
    assert list(reader.notice("session: a " + "x" * SEARCHED_CHARACTERS)) == [SessionSeen(id="a")]


@pytest.mark.promise("spec/107")
def test_a_real_program_gets_its_words_to_the_letter(tmp_path: Path) -> None:
    script = "import sys; print('session: s-9'); print(repr(sys.argv[1:]))"
    agent = CommandAgent((sys.executable, "-c", script, "--task={task}"), session_pattern=PATTERN)
    words = "$(touch pwned) `x` \"q\" 'p'\n--help; rm {cwd}"
    command = agent.start(a_task(prompt=words, cwd=str(tmp_path)))

    run = subprocess.run(
        command.argv,
        cwd=command.cwd,
        env=dict(command.environment),
        capture_output=True,
        text=True,
        check=True,
    )

    notes, reader = Notes(), agent.reader()
    for line in run.stdout.splitlines():
        for noticed in reader.notice(line):
            notes(noticed)
    assert notes.of(SessionSeen) == [SessionSeen(id="s-9")]
    assert run.stdout.splitlines()[-1] == repr([f"--task={words}"])
    assert list(tmp_path.iterdir()) == []
