"""Sessions that Upcall has not started: they only have its door, and a late answer brings them back all the same."""

import json
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents import by_hand, other_server
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.runs import Run, a_boss, at_work_in
from tests.agents.script import Call, Say
from tests.agents.stories import wait_for_record
from upcall.cli.client import Client
from upcall.home.files import Home


@pytest.mark.parametrize("program", (CLAUDE, CODEX), ids=lambda program: str(program.name))
def test_a_session_that_was_killed_comes_back_with_the_answer(
    program: Program, model: Model, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    model.play(Call("ask_human", {"question": "Which cache?"}), Say("Memcached it is."))
    with Person(Home(tmp_path / "upcall")) as person:
        work = by_hand.start(program, desk, person.home, "Set up the cache.")
        question = person.next_question(work)
        wait_for_record(desk, program)
        work.kill(signal.SIGKILL)
        person.answer(question["ref"], "Memcached")
        client = Client(home=person.home)
        run = adopted(client)
        over = run.finish()
        assert (over["state"], over["agent"]) == ("completed", program.name), run.report()
        assert over["result"] == "Memcached it is."
        assert any("The user answered: Memcached" in prompt for prompt in model.conversations[-1].prompts)
        settled = client.get(f"/v1/inquiries/{question['id']}")
        assert settled["answer"]["collected_at"] is not None
        assert settled["resume"]["state"] == "done"
        client.hang_up()


def adopted(client: Client) -> Run:
    """The run that a session has become."""
    after = 0
    while not client.get("/v1/runs")["items"]:
        events = client.get("/v1/events", patience=60, after=after, wait=30)["items"]
        after = events[-1]["seq"] if events else after
    return Run(client, 1)


@pytest.mark.promise("trust/68", "trust/85")
def test_a_session_comes_back_in_its_own_environment_and_with_its_own_servers(
    model: Model, desk: Desk, person: Person
) -> None:
    """The daemon knows neither the program's path, nor its key, nor the server that the session was started with."""
    server = {"command": sys.executable, "args": [str(Path(other_server.__file__))], "alwaysLoad": True}
    (desk.work / "other.json").write_text(json.dumps({"mcpServers": {"other": server}}))
    model.play(Call("ask_human", {"question": "Which cache?"}), Say("Memcached it is."))
    work = by_hand.start(
        CLAUDE, desk, person.home, "Set up the cache.", "--mcp-config", "other.json", OF_THE_SESSION="yes"
    )
    question = person.next_question(work)
    wait_for_record(desk, CLAUDE)
    until((person.home.path / "handed" / f"{question['id']}.json").exists)
    (left,) = (person.home.path / "handed").iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    kept = json.loads(left.read_text())["environment"]
    assert kept["OF_THE_SESSION"] == "yes"
    assert not [name for name in kept if name.startswith("UPCALL_") or name == "CLAUDECODE"]
    work.kill(signal.SIGKILL)
    person.answer(question["ref"], "Memcached")

    run = adopted(person.client)
    over = run.finish()
    assert (over["state"], over["result"]) == ("completed", "Memcached it is."), run.report()
    (tool,) = [each.name for each in model.conversations[-1].tools if "other" in each.name]
    assert tool in [each.name for each in model.conversations[0].tools]
    folder = person.home.path / "runs/1"
    assert (list((person.home.path / "handed").iterdir()), (folder / "start.json").exists()) == ([], False)
    assert stat.S_IMODE((folder / "environment.json").stat().st_mode) == 0o600
    told = json.dumps([person.show(question["id"]), over, person.client.get("/v1/events")])
    assert "OF_THE_SESSION" not in told
    assert "other.json" not in told


@pytest.mark.promise("trust/68")
def test_nothing_is_left_of_the_environment_once_the_agent_has_its_answer(
    model: Model, desk: Desk, person: Person
) -> None:
    model.play(Call("ask_human", {"question": "Which cache?"}), Say("Memcached it is."))
    work = by_hand.start(CLAUDE, desk, person.home, "Set up the cache.")
    question = person.next_question(work)
    person.answer(question["ref"], "Memcached")
    assert work.finish().code == 0
    assert list((person.home.path / "handed").iterdir()) == []


@pytest.mark.promise("trust/71", "trust/72")
@pytest.mark.parametrize(
    ("program", "command"),
    [(OPENCODE, "opencode --continue"), (GEMINI, "gemini --resume latest")],
    ids=["opencode", "gemini"],
)
def test_a_dead_session_that_never_told_its_name_is_gone_and_the_command_is_printed(
    program: Program, command: str, model: Model, desk: Desk, tmp_path: Path
) -> None:
    model.play(Call("ask_human", {"question": "Which cache?"}))
    with a_boss(tmp_path / "upcall") as boss:
        work = by_hand.start(program, desk, boss.home, "Set up the cache.")
        question = boss.next_question(work)
        work.kill(signal.SIGKILL)
        until(lambda: not at_work_in(desk.work))
        said = boss.said(desk, "answer", question["ref"], "Memcached")
        assert "The asker is gone; the answer is kept." in said
        assert f"To continue: cd {desk.work} && {command}" in said
        assert boss.show(question["id"])["answer"]["collected_at"] is None
        assert boss.client.get("/v1/runs")["items"] == []


@pytest.mark.promise("trust/72")
def test_a_dead_session_of_opencode_that_was_named_comes_back_with_the_answer(
    model: Model, desk: Desk, person: Person
) -> None:
    model.play(Say("Ready."), Call("ask_human", {"question": "Which cache?"}), Say("Memcached it is."))
    first = by_hand.start(OPENCODE, desk, person.home, "Look around.").finish()
    session = str(first.events[0]["sessionID"])
    work = by_hand.start(OPENCODE, desk, person.home, "Set up the cache.", session=session)
    question = person.next_question(work)
    assert question["session"] == session
    until((person.home.path / "handed" / f"{question['id']}.json").exists)
    work.kill(signal.SIGKILL)
    until(lambda: not at_work_in(desk.work))
    person.answer(question["ref"], "Memcached")
    run = adopted(person.client)
    over = run.finish()
    assert (over["state"], over["result"], over["session"]) == ("completed", "Memcached it is.", session)
    assert any("The user answered: Memcached" in prompt for prompt in model.conversations[-1].prompts)


def until(fact: Callable[[], bool]) -> None:
    """Until something is so that no program tells: a pipe has written its file, or has ended after its agent."""
    deadline = time.monotonic() + 30
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)
