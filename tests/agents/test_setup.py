"""Each real program after `upcall setup`, started the way its users start it: it asks, and goes on with the answer."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, PROGRAMS, Desk, Program, need
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import ASK, TASK
from tests.agents.work import Work
from upcall.setup.plan import BACKUP

PLAINLY = {
    CLAUDE: ("-p", "--output-format", "stream-json", "--verbose"),
    CODEX: ("exec", "--json", "-"),
    OPENCODE: ("run", "--format", "json"),
    GEMINI: ("--output-format", "stream-json"),
}
"""Nothing here speaks of Upcall: it is only so that the test can read what the program says."""

SETTINGS = (
    ".claude.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".config/opencode/opencode.json",
    ".gemini/settings.json",
)

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def upcall(desk: Desk, person: Person, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "upcall", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=desk.work,
        env=desk.environment | {"UPCALL_HOME": str(person.home.path)},
        timeout=110,
    )


def settings(desk: Desk) -> str:
    return "".join(file.read_text("utf-8") for name in SETTINGS if (file := desk.home / name).exists())


@pytest.mark.promise("spec/71")
@every_program
def test_a_program_that_was_set_up_asks_when_it_is_started_plainly(
    program: Program, model: Model, desk: Desk, person: Person
) -> None:
    need(program)
    done = upcall(desk, person, "setup", program.name, "--yes")
    assert done.returncode == 0, done.stderr
    model.play(ASK, say_back)
    work = desk.start(program, *PLAINLY[program], stdin=TASK)
    question = person.next_question(work)
    person.answer(question["ref"], "Memcached")

    assert work.finish().code == 0, work.report()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]

    # The program may have written to its files itself meanwhile.
    done = upcall(desk, person, "setup", program.name, "--remove", "--yes")
    assert done.returncode == 0, done.stderr
    assert "upcall" not in settings(desk)
    assert list(desk.home.rglob(f"*{BACKUP}")) == []


def ask_what_the_task_says(heard: Conversation) -> Turn:
    if heard.results:
        return say_back(heard)
    wanted = re.search(r'"(Upcall test .*?)"', "".join(heard.prompts))
    assert wanted is not None, heard.prompts
    return Call("ask_human", {"question": wanted[1]})


def doctor(desk: Desk, person: Person, program: Program, *words: str) -> tuple[int, dict[str, Json]]:
    done = upcall(desk, person, "doctor", program.name, "--json", *words)
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {check["name"]: check for check in checks if check["about"] == program.name}


@pytest.mark.promise("spec/72")
@pytest.mark.parametrize("program", [CLAUDE, CODEX], ids=lambda program: program.name)
def test_the_doctor_has_a_program_ask_and_answers_it(
    program: Program, model: Model, desk: Desk, person: Person
) -> None:
    need(program)
    upcall(desk, person, "setup", program.name, "--yes")
    model.follow(ask_what_the_task_says)
    code, checks = doctor(desk, person, program, "--ask")

    assert {name: check["state"] for name, check in checks.items()} == {
        "program": "ok",
        "set up": "ok",
        "patience": "ok",
        "test question": "ok",
    }, checks
    assert code == 0
    assert program.version in checks["program"]["says"]
    assert "teal-" in model.conversations[-1].results[-1]


def test_the_doctor_says_so_when_a_program_does_not_ask(model: Model, desk: Desk, person: Person) -> None:
    need(CODEX)
    upcall(desk, person, "setup", "codex", "--yes")
    model.follow(lambda _: Say("I would rather not."))
    code, checks = doctor(desk, person, CODEX, "--ask")

    assert code == 1
    assert checks["test question"]["state"] == "failed"
    assert "never asked" in checks["test question"]["says"]
    assert "I would rather not." in checks["test question"]["says"]
    assert "upcall setup codex" in checks["test question"]["next"]


@pytest.mark.promise("spec/155")
@pytest.mark.parametrize("program", [CLAUDE, GEMINI], ids=lambda program: program.name)
def test_what_is_printed_for_a_ci_job_works_with_a_daemon_elsewhere(
    program: Program, model: Model, desk: Desk, person: Person, tmp_path: Path
) -> None:
    need(program)
    script = upcall(desk, person, "setup", program.name, "--ci").stdout
    job = tmp_path / "job.sh"
    job.write_text(script, "utf-8")
    running = person.home.running()
    assert running is not None
    token = upcall(desk, person, "tokens", "create", "--role", "agent", "--name", "ci").stdout.strip()
    model.play(ASK, say_back)
    folder = os.pathsep.join((str(Path(sys.executable).parent), desk.environment["PATH"]))
    variables = desk.environment | {"PATH": folder, "UPCALL_URL": running.url, "UPCALL_TOKEN": token}
    process = subprocess.Popen(
        ["sh", "-e", str(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=desk.work,
        env=variables,
        start_new_session=True,
    )
    work = Work(process)
    try:
        question = person.next_question(work)
        person.answer(question["ref"], "Memcached")
        assert process.wait(60) == 0, work.report()
    finally:
        work.close()
    assert question["agent"] == "ci"
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]
