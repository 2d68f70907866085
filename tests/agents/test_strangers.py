"""Sessions that Upcall has not started: they only have its door, and a late answer brings them back all the same."""

import signal
from pathlib import Path

import pytest

from tests.agents import by_hand
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, Desk, Program
from tests.agents.runs import Run
from tests.agents.script import Call, Say
from tests.agents.stories import wait_for_record
from upcall.cli.client import Client
from upcall.home import Home


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
        after = 0
        while not client.get("/v1/runs")["items"]:
            events = client.get("/v1/events", patience=60, after=after, wait=30)["items"]
            after = events[-1]["seq"] if events else after
        run = Run(client, 1)
        over = run.finish()
        assert (over["state"], over["agent"]) == ("completed", program.name), run.report()
        assert over["result"] == "Memcached it is."
        assert any("The user answered: Memcached" in prompt for prompt in model.conversations[-1].prompts)
        settled = client.get(f"/v1/inquiries/{question['id']}")
        assert settled["answer"]["collected_at"] is not None
        assert settled["resume"]["state"] == "done"
        client.hang_up()
