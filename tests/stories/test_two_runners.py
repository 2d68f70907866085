"""Two machines, one PostgreSQL database: a session is brought back once, and only by the machine that has it."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer
from tests.stories.conftest import Json, Scene
from upcall.cli.client import run_path
from upcall.home.files import Home
from upcall.home.instance import stop_running

AGENT = """
import subprocess, sys
if sys.argv[1] == "start":
    print("session: s-1", flush=True)
    ask = [sys.executable, "-P", "-m", "upcall", "ask", "Which cache?", "-o", "Redis", "-o", "Memcached"]
    assert subprocess.run([*ask, "--timeout", "0"]).returncode == 12
else:
    print("heard:", sys.argv[2].replace("\\n", " "), flush=True)
"""


@pytest.fixture
def scenes(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Scene, Scene]]:
    """Two homes with a daemon each, which both know the agent."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN", "UPCALL_HOME", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UPCALL_DATABASE", postgres.database(tmp_path))
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    words = f"{sys.executable!r}, {str(program)!r}"
    homes = [Home(tmp_path / name) for name in ("here", "there")]
    for home in homes:
        home.create()
        home.config_file.write_text(
            f'[agents.scripted]\nadapter = "command"\nstart = [{words}, "start"]\n'
            f'resume = [{words}, "resume", "{{message}}"]\nsession_pattern = "session: (\\\\S+)"\n'
        )
    with ThreadPoolExecutor(2) as threads:
        here, there = (Scene(home, threads) for home in homes)
        try:
            here.daemon()
            there.daemon()
            yield here, there
        finally:
            for scene in (here, there):
                scene.end()
                stop_running(scene.home)


def ended_with_a_question(here: Scene, work: Path) -> tuple[int, str]:
    """The number of a run of this machine without a process, and its open question."""
    run = here.person.post("/v1/runs", {"agent": "scripted", "task": "Set it up", "cwd": str(work)})
    until(here, run["number"], lambda now: now["state"] == "waiting_input" and now["exit_code"] == 0)
    (ref,) = here.person.get(run_path(run["number"]))["inquiries"]
    return run["number"], here.show(ref)["id"]


def until(scene: Scene, number: int, wanted: Callable[[Json], bool]) -> Json:
    """A run as soon as something is true of it, which the log of events tells."""
    after = 0
    run: Json = {}
    for _ in range(30):
        run = scene.person.get(run_path(number))
        if wanted(run):
            return run
        events = scene.person.get("/v1/events", patience=30, after=after, wait=3)["items"]
        after = events[-1]["seq"] if events else after
    raise AssertionError(f"it never came to that: {run}")


def heard(scene: Scene, number: int) -> list[str]:
    """What the run's process was told, each time that it was brought back."""
    page = scene.person.get(run_path(number, "log"), after=0, raw=1)
    return [line["text"] for line in page["lines"] if line["text"].startswith("heard:")]


def test_an_answer_given_there_brings_the_session_back_here_and_once(
    scenes: tuple[Scene, Scene], tmp_path: Path
) -> None:
    here, there = scenes
    number, inquiry = ended_with_a_question(here, tmp_path)

    assert there.answer(inquiry, "2")["accepted"]

    over = until(there, number, lambda now: now["state"] in {"completed", "failed"})
    assert over["state"] == "completed", over
    (told,) = heard(here, number)
    assert "The user answered: Memcached" in told
    assert (here.home.path / "runs" / str(number) / "fence").read_text() == "2"
    assert not (there.home.path / "runs" / str(number)).exists()


def test_while_the_machine_of_a_session_is_away_the_other_says_for_whom_the_answer_waits(
    scenes: tuple[Scene, Scene], tmp_path: Path
) -> None:
    here, there = scenes
    number, inquiry = ended_with_a_question(here, tmp_path)
    here.kill_daemon()

    assert there.answer(inquiry, "2")["accepted"]
    runner = (here.home.path / "runner").read_text().strip()
    assert there.show(inquiry)["resume"]["state"] == f"waiting for runner {runner}"

    # A command that finds no daemon there starts one.
    here.person.hang_up()
    here.person.get(run_path(number))
    over = until(there, number, lambda now: now["state"] in {"completed", "failed"})
    assert over["state"] == "completed", over
    assert len(heard(here, number)) == 1
    assert not (there.home.path / "runs" / str(number)).exists()
    settled = there.show(inquiry)
    assert (settled["resume"]["state"], settled["resume"]["attempts"]) == ("done", 1)
    assert settled["answer"]["collected_at"] is not None
