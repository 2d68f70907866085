"""A question in an agent's text is asked although the daemon is restarted or killed while the agent goes on writing."""

import json
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from upcall.home.files import Home
from upcall.home.instance import stop_running

PIECES = (
    "session: s-1\n",
    '<<ASK>> {"question": "Which cache?",\n',
    '  "options": ["Redis",',
    ' "Memcached"]} <</ASK>>\n',
    "and now I wait\n",
)
"""What the agent writes; the question has two lines, and the third piece ends in the middle of the second."""

AGENT = """
import json, sys, time
from pathlib import Path

folder = Path(sys.argv[1])
if sys.argv[2] == "resume":
    (folder / "heard.new").write_text(sys.argv[3])
    (folder / "heard.new").rename(folder / "heard")
    sys.exit(0)
for number, piece in enumerate(json.loads((folder / "pieces.json").read_text())):
    while not (folder / f"go-{number}").exists():
        time.sleep(0.01)
    sys.stdout.write(piece)
    sys.stdout.flush()
while not (folder / "end").exists():
    time.sleep(0.01)
"""

SECONDS = 60.0


class Stage:
    """A home with an agent that writes one piece after the other, each when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = Program(folder / "home")
        self.program.home.mkdir(mode=0o700)
        script = folder / "agent.py"
        script.write_text(AGENT)
        (folder / "pieces.json").write_text(json.dumps(PIECES))
        python, name, where = repr(sys.executable), repr(str(script)), repr(str(folder))
        (self.program.home / "upcall.toml").write_text(
            f"""
[agents.scripted]
adapter = "command"
start = [{python}, {name}, {where}, "start"]
resume = [{python}, {name}, {where}, "resume", "{{message}}"]
session_pattern = "session: (\\\\S+)"
marker = "ASK"
"""
        )

    def write(self, number: int) -> int:
        """Have a piece written, and return how much has come out with it: a keeper passes on whole lines."""
        (self.folder / f"go-{number}").touch()
        whole = "".join(PIECES[: number + 1]).rfind("\n") + 1
        until(lambda: self._size() == whole)
        return whole

    def _size(self) -> int:
        return sum(file.stat().st_size for file in (self.program.home / "runs" / "1").glob("output-*.log"))

    def saved(self) -> int:
        """Up to where the database says that the output has been read."""
        with closing(sqlite3.connect(f"file:{self.program.home / 'upcall.db'}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT body FROM record WHERE kind = 'run' AND key = '1'").fetchone()
        read: int = json.loads(row[0])["read"]
        return read

    def end(self) -> None:
        """Let the agent end its turn."""
        (self.folder / "end").touch()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def restart(program: Program) -> None:
    """End the daemon as an update does; the next command starts another."""
    assert stop_running(Home(program.home))


def kill(program: Program) -> None:
    program.kill(signal.SIGKILL)
    stop_running(Home(program.home))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.program("down")


@pytest.mark.promise("trust/12")
@pytest.mark.parametrize("leave", [restart, kill])
@pytest.mark.parametrize("written", range(len(PIECES)))
def test_a_question_in_the_text_survives_the_end_of_the_daemon_after_every_piece_of_it(
    stage: Stage, leave: Callable[[Program], None], written: int
) -> None:
    program = stage.program
    assert program("run", "scripted", "work").returncode == 0
    position = max(map(stage.write, range(written + 1)))
    until(lambda: stage.saved() == position)
    leave(program)
    for number in range(written + 1, len(PIECES)):
        (stage.folder / f"go-{number}").touch()
    program("status")
    stage.end()
    is_asked_and_answered_once(stage)


@pytest.mark.promise("trust/12")
@pytest.mark.parametrize("leave", [restart, kill])
def test_a_question_in_the_text_is_asked_by_the_next_daemon_when_the_agent_ended_without_one(
    stage: Stage, leave: Callable[[Program], None]
) -> None:
    program = stage.program
    assert program("run", "scripted", "work").returncode == 0
    position = max(map(stage.write, range(len(PIECES))))
    until(lambda: stage.saved() == position)
    leave(program)
    stage.end()
    until((program.home / "runs" / "1" / "exit.json").exists)
    program("status")
    is_asked_and_answered_once(stage)


def is_asked_and_answered_once(stage: Stage) -> None:
    program = stage.program
    until(lambda: program.json("show", "1")["state"] in {"waiting_input", "completed", "failed"})
    (asked,) = program.json("status")["waiting"]
    assert asked["questions"][0]["question"] == "Which cache?"
    assert program.json("show", "1")["state"] == "waiting_input"
    assert program("answer", asked["ref"], "Memcached").returncode == 0
    until((stage.folder / "heard").exists)
    assert "Memcached" in (stage.folder / "heard").read_text()
