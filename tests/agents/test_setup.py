"""Each real program after `upcall setup`, started the way its users start it: it asks, and goes on with the answer."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, PROGRAMS, Desk, Program, need
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import ASK, TASK
from tests.agents.work import Work
from upcall.home.instance import stop_running
from upcall.home.launch import ensure_running
from upcall.setup.plan import BACKUP

PLAINLY = {
    CLAUDE: ("-p", "--output-format", "stream-json", "--verbose"),
    CODEX: ("exec", "--json", "-"),
    OPENCODE: ("run", "--format", "json"),
    GEMINI: ("--output-format", "stream-json"),
}
"""Nothing here speaks of Upcall: it is only so that the test can read what the program says."""

CALLED = {CLAUDE: "claude-code", CODEX: "codex", OPENCODE: "opencode", GEMINI: "gemini-cli"}
"""What each program calls itself."""

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


@pytest.mark.promise("spec/71", "trust/80")
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
    assert (question["agent"], question["asker"]) == ("local", f"{CALLED[program]} in {desk.work.name}")
    assert question["asker"] in upcall(desk, person, "status").stdout
    assert question["asker"] in upcall(desk, person, "show", question["ref"]).stdout
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


@pytest.mark.promise("trust/70")
def test_codex_has_the_tools_although_the_daemon_is_slow(model: Model, desk: Desk, person: Person) -> None:
    need(CODEX)
    assert upcall(desk, person, "setup", "codex", "--yes").returncode == 0
    table = tomllib.loads((desk.home / ".codex/config.toml").read_text("utf-8"))["mcp_servers"]["upcall"]
    assert table["required"] is True
    model.play(ASK, say_back)
    whereabouts = person.home.runtime_file.read_text()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        told = json.loads(whereabouts) | {"pipe_port": mute.getsockname()[1]}
        person.home.write_private(person.home.runtime_file, json.dumps(told))
        work = desk.start(CODEX, *PLAINLY[CODEX], stdin=TASK)
        # Only now, with the tools in front of it, the model is asked.
        model.wait_for(lambda heard: heard.tools)
        person.home.write_private(person.home.runtime_file, whereabouts)
    question = person.next_question(work)
    person.answer(question["ref"], "Memcached")

    assert work.finish().code == 0, work.report()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]


@pytest.mark.promise("trust/74")
@pytest.mark.parametrize("program", [CLAUDE, CODEX, GEMINI], ids=lambda program: program.name)
@pytest.mark.parametrize("answered", ["before", "after"])
def test_a_question_that_is_repeated_after_a_timeout_is_put_to_people_once(
    program: Program, answered: str, model: Model, desk: Desk, person: Person
) -> None:
    need(program)
    assert upcall(desk, person, "setup", program.name, "--yes").returncode == 0
    for file in (desk.home / name for name in SETTINGS):
        if file.exists():
            # Each program then gives a call up after two seconds.
            text = file.read_text("utf-8").replace("86460000", "2000").replace("86460", "2")
            file.write_text(text, "utf-8")
    is_cut, is_answered = threading.Event(), threading.Event()

    def insist(heard: Conversation) -> Turn:
        is_cut.set()
        assert answered == "after" or is_answered.wait(60)
        return ASK

    model.play(ASK, insist)
    # On a busy machine an answer takes longer than the program waits, and the model asks once more.
    model.follow(lambda heard: say_back(heard) if "The user answered" in heard.results[-1] else ASK)
    work = desk.start(program, *PLAINLY[program], stdin=TASK)
    question = person.next_question(work)
    assert is_cut.wait(60), work.report()
    person.answer(question["ref"], "Memcached")
    is_answered.set()

    assert work.finish().code == 0, work.report()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]
    events = person.client.get("/v1/events", after=0)["items"]
    assert [event["type"] for event in events].count("asked") == 1


@pytest.mark.promise("spec/155")
@pytest.mark.parametrize("program", [CLAUDE, GEMINI], ids=lambda program: program.name)
def test_what_is_printed_for_a_ci_job_works_with_a_daemon_elsewhere(
    program: Program, model: Model, desk: Desk, person: Person, tmp_path: Path
) -> None:
    need(program)
    model.play(ASK, say_back)
    work = job(program, desk, person, tmp_path)
    try:
        question = person.next_question(work)
        person.answer(question["ref"], "Memcached")
        assert work.end() == 0, work.report()
    finally:
        work.close()
    assert question["agent"] == "ci"
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]


def as_the_advice_says(heard: Conversation) -> Turn:
    """A model that does what it was told to do about a question without an answer."""
    told = heard.results[-1] if heard.results else ""
    if not told:
        return ASK
    if "arked" not in told and "No answer yet" not in told:
        return say_back(heard)
    advice = heard.system + "".join(heard.prompts)
    name = re.search(r'with id .?"([0-9a-z]+)', told)
    if name is None or "Call the tool wait_for_answer" not in advice:
        return Say("I wait for an answer.")
    return Call("wait_for_answer", {"id": name[1]})


@pytest.mark.promise("trust/73")
@every_program
def test_a_ci_job_does_not_end_before_its_question_is_answered(
    program: Program, model: Model, desk: Desk, person: Person, tmp_path: Path
) -> None:
    need(program)
    stop_running(person.home)
    person.home.config_file.write_text("block_timeout = 1\n")
    ensure_running(person.home)
    model.follow(as_the_advice_says)
    work = job(program, desk, person, tmp_path)
    try:
        question = person.next_question(work)
        # The first call has come back without an answer, and the model has been told so.
        model.wait_for(lambda heard: heard.results)
        person.answer(question["ref"], "Memcached")
        assert work.end() == 0, work.report()
    finally:
        work.close()
    assert "The user answered: Memcached" in model.conversations[-1].results[-1]


def job(program: Program, desk: Desk, person: Person, folder: Path) -> Work:
    """Start what is printed for a CI job, with a daemon elsewhere."""
    script = upcall(desk, person, "setup", program.name, "--ci").stdout
    file = folder / "job.sh"
    file.write_text(script, "utf-8")
    running = person.home.running()
    assert running is not None
    token = upcall(desk, person, "tokens", "create", "--role", "agent", "--name", "ci").stdout.strip()
    path = os.pathsep.join((str(Path(sys.executable).parent), desk.environment["PATH"]))
    process = subprocess.Popen(
        ["sh", "-e", str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=desk.work,
        env=desk.environment | {"PATH": path, "UPCALL_URL": running.url, "UPCALL_TOKEN": token},
        start_new_session=True,
    )
    return Work(process)
