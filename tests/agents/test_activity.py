"""What led to a question, from the record that each real program keeps of its own session, and from the log of a run."""

import shutil
from pathlib import Path

import pytest

from tests.agents import stories
from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, PROGRAMS, Desk, Program
from tests.agents.runs import a_boss
from tests.agents.script import Say, say_back
from tests.agents.stories import ANYTHING_GOES, ASK, SHELL, TASK, Stage

QUICK = (CLAUDE, CODEX)
"""Programs that take a moment to start, and not seconds."""

WORDS = "The tests pass, so the *cache* is next. password=hunter2secret"
MASKED = "The tests pass, so the *cache* is next. password=[redacted: password]"


@pytest.mark.promise("desk/7", "desk/8", "raised/39")
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, marks=[] if each in QUICK else pytest.mark.thorough, id=each.name)
        for each in PROGRAMS
    ],
)
def test_the_record_of_the_session_that_asks_tells_what_led_to_its_question(
    program: Program, model: Model, desk: Desk, person: Person
) -> None:
    stage = Stage(model=model, desk=desk, person=person)
    model.play([Say(WORDS), SHELL[program]], ASK, say_back)
    work = stage.start(program, TASK, *ANYTHING_GOES[program])
    question = person.next_question(work)
    # As it was asked, before any record was read.
    assert (question["workspace"], question["branch"]) == (str(desk.work), "main")
    assert question["asker"].endswith(f" in {desk.work.name}")

    activity = observed(person, question["id"])
    before = snapshot(desk.home)
    assert activity["task"] == TASK
    assert activity["branch"] == "main"
    assert activity["turn"] == 2
    assert activity["message"] == MASKED
    assert activity["calls"] == [{"tool": SHELL[program].tool, "input": "touch made"}]
    assert snapshot(desk.home) == before

    person.answer(question["ref"], "Memcached")
    assert work.finish().code == 0, work.report()


@pytest.mark.promise("desk/7")
def test_the_log_of_a_run_tells_what_led_to_its_question(model: Model, desk: Desk, tmp_path: Path) -> None:
    model.play([Say(WORDS), SHELL[CLAUDE]], ASK, say_back)
    with a_boss(tmp_path / "upcall", 'permission = "autonomous"\n') as boss:
        run = boss.run(CLAUDE, desk, TASK)
        question = boss.next_question(run)
        activity = observed(boss, question["id"])
        boss.answer(question["ref"], "Memcached")
        run.finish()
    # Nothing of what the program keeps itself was needed.
    shutil.rmtree(desk.home / ".claude")
    assert activity == {
        "task": TASK,
        "branch": "main",
        "turn": 2,
        "message": MASKED,
        "calls": [{"tool": "Bash", "input": "touch made"}],
        "plan": "",
    }


@pytest.mark.thorough
@pytest.mark.promise("desk/8")
def test_a_setting_turns_the_reading_off(
    model: Model, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPCALL_ACTIVITY", "false")
    model.play([Say(WORDS), SHELL[CLAUDE]], ASK, say_back)
    with a_boss(tmp_path / "upcall") as boss:
        stage = Stage(model=model, desk=desk, person=boss)
        work = stage.start(CLAUDE, TASK, *ANYTHING_GOES[CLAUDE])
        question = boss.next_question(work)
        stories.wait_for_record(desk, CLAUDE)
        boss.let_pass(4)
        assert boss.show(question["id"])["activity"] is None
        boss.answer(question["ref"], "Memcached")
        work.finish()


def observed(person: Person, inquiry: str) -> Json:
    """What led to an inquiry, once that was read."""
    after = 0
    while True:
        news = person.client.get("/v1/events", patience=30, after=after, wait=20)
        assert news["items"], "nothing was read"
        for event in news["items"]:
            after = event["seq"]
            if (event["type"], event["inquiry"]) == ("activity", inquiry):
                activity: Json = person.show(inquiry)["activity"]
                return activity


def snapshot(home: Path) -> dict[str, int]:
    """The records that programs keep of their sessions, by when they were written."""
    patterns = [pattern for pattern, _ in stories.RECORDS.values() if not pattern.endswith(".db*")]
    return {str(path): path.stat().st_mtime_ns for pattern in patterns for path in sorted(home.glob(pattern))}
