"""A session is brought back once, by the daemon of its own machine, when a daemon is killed or halted between answer and start."""

import sys
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer
from tests.stories.replica import Replica, all_over, wait_until_over
from tests.stories.test_two_runners import AGENT
from upcall.cli.client import inquiry_path, run_path

Replicas = tuple[Replica, Replica]


@pytest.fixture
def database(tmp_path: Path, postgres: PostgresServer) -> str:
    return postgres.database(tmp_path)


@pytest.fixture
def replicas(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Replicas]:
    """Two daemons that both know the agent; its session is the one's that is here, which may halt itself."""
    monkeypatch.delenv("UPCALL_URL", raising=False)
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    words = f"{sys.executable!r}, {str(program)!r}"
    here = Replica(tmp_path / "here", database, HALT=getattr(request, "param", ""))
    there = Replica(tmp_path / "there", database)
    for replica in (here, there):
        replica.home.config_file.write_text(
            f'[agents.scripted]\nadapter = "command"\nstart = [{words}, "start"]\n'
            f'resume = [{words}, "resume", "{{message}}"]\nsession_pattern = "session: (\\\\S+)"\n'
        )
    try:
        here.start()
        there.start()
        yield here, there
    finally:
        here.end()
        there.end()


def until(replica: Replica, event: str) -> None:
    """Wait until something has happened, as this daemon hears of it."""
    after = 0
    while True:
        for each in replica.person.get("/v1/events", patience=30, after=after, wait=30)["items"]:
            after = each["seq"]
            if each["type"] == event:
                return


def ended_with_a_question(here: Replica, there: Replica, work: Path) -> tuple[int, str]:
    """The number of a run without a process, and its open question."""
    run = here.person.post("/v1/runs", {"agent": "scripted", "task": "Set it up", "cwd": str(work)})
    number = int(run["number"])
    while (run := there.person.get(run_path(number)))["exit_code"] is None:
        until(there, "run_waiting")
    (ref,) = run["inquiries"]
    return number, str(there.person.get(inquiry_path(ref))["id"])


def brought_back_once(
    here: Replica, there: Replica, number: int, inquiry: str, *, attempts: Container[int] = (1,)
) -> None:
    until(there, "run_completed")
    page = here.person.get(run_path(number, "log"), after=0, raw=1)
    (heard,) = [line["text"] for line in page["lines"] if line["text"].startswith("heard:")]
    assert "The user answered: Memcached" in heard
    settled = there.person.get(inquiry_path(inquiry))
    assert settled["resume"]["state"] == "done"
    assert settled["resume"]["attempts"] in attempts


def answered(replica: Replica, inquiry: str) -> None:
    assert replica.person.post(inquiry_path(inquiry, "answer"), {"text": "2"})["accepted"]


def test_the_daemon_that_took_the_answer_is_killed_right_after_it(replicas: Replicas, tmp_path: Path) -> None:
    here, there = replicas
    number, inquiry = ended_with_a_question(here, there, tmp_path)
    answered(there, inquiry)
    there.kill()
    there.start()
    brought_back_once(here, there, number, inquiry)


@pytest.mark.parametrize("moment", ["answered", "forwarded", "run_resumed"])
def test_the_daemon_that_has_the_session_is_killed(replicas: Replicas, tmp_path: Path, moment: str) -> None:
    here, there = replicas
    number, inquiry = ended_with_a_question(here, there, tmp_path)
    answered(there, inquiry)
    until(there, moment)
    here.kill()
    here.start()
    # An attempt that was written down may not have been made.
    brought_back_once(here, there, number, inquiry, attempts=(1, 2))


@pytest.mark.parametrize("replicas", ["resume"], indirect=True)
@pytest.mark.parametrize("fate", ["halted", "killed"])
def test_the_daemon_that_has_the_session_loses_its_lease_before_it_starts_anything(
    replicas: Replicas, tmp_path: Path, database: str, fate: str
) -> None:
    here, there = replicas
    number, inquiry = ended_with_a_question(here, there, tmp_path)
    answered(there, inquiry)
    held = here.halted()
    if fate == "killed":
        here.kill()
        here.start()
    else:
        wait_until_over(database, held)
        assert all_over(database, held)
        # No other daemon took it: the session is on this machine.
        assert there.person.get(run_path(number))["state"] == "waiting_input"
        here.go_on()
    brought_back_once(here, there, number, inquiry)
