"""What agents ask on their own account: their question tools and their permission prompts, answered by `upcall answer`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import other_server
from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import ASK

QUESTION: Json = {
    "question": "Which cache?",
    "header": "Cache",
    "options": [
        {"label": "Redis", "description": "Keeps data"},
        {"label": "Memcached", "description": "Simple"},
    ],
}
ASKED = Call("AskUserQuestion", {"questions": [{**QUESTION, "multiSelect": False}]})
TASK = "Set up the cache."
COMMAND = "touch made"
SHELL = {
    CLAUDE: Call("Bash", {"command": COMMAND, "description": "Make a file"}),
    CODEX: Call("exec_command", {"cmd": COMMAND, "sandbox_permissions": "require_escalated"}),
    OPENCODE: Call("bash", {"command": COMMAND, "description": "Make a file"}),
    GEMINI: Call("run_shell_command", {"command": COMMAND, "description": "Make a file"}),
}
ASKING = {
    OPENCODE: (Call("question", {"questions": [{**QUESTION, "multiple": False}]}), ASK),
    GEMINI: (ASK,),
}
"""What is asked first: through its own question tool, where it has one, and through ours."""

OTHER_SERVER = (
    f'{{command="{sys.executable}",args=["{Path(other_server.__file__)}"],'
    'omit_tools_from=["deferred","code_mode"]}'
)


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall")) as owner:
        yield owner


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """A daemon that holds hooks for a moment only."""
    with a_boss(tmp_path_factory.mktemp("hasty"), 'hook_wait = "1s"\n') as owner:
        yield owner


def by_name(program: Program) -> str:
    return program.name


@pytest.mark.promise("spec/62")
def test_claudes_own_question_is_answered_while_it_waits(model: Model, desk: Desk, boss: Boss) -> None:
    model.play(ASKED, say_back)
    run = boss.run(CLAUDE, desk, TASK)
    question = boss.next_question(run)
    assert [option["label"] for option in question["questions"][0]["options"]] == ["Redis", "Memcached"]
    boss.answer(question["ref"], "2")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert "Memcached" in model.conversations[-1].results[-1]
    assert boss.show(question["id"])["answer"]["collected_at"] is not None


def test_claudes_own_question_is_put_off_and_its_answer_brings_it_back(
    model: Model, desk: Desk, hasty: Boss
) -> None:
    """Without a word: the call itself is answered, and the model never knows that it was gone."""
    model.play(ASKED, say_back)
    run = hasty.run(CLAUDE, desk, TASK)
    question = hasty.next_question(run)
    waiting = run.until(lambda now: now["exit_code"] is not None)
    assert (waiting["state"], waiting["inquiries"]) == ("waiting_input", [question["ref"]])
    hasty.answer(question["ref"], "2")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 2), run.report()
    assert "Memcached" in model.conversations[-1].results[-1]
    assert not any("You asked" in prompt for prompt in model.conversations[-1].prompts)
    assert hasty.show(question["id"])["answer"]["collected_at"] is not None
    assert len(model.conversations) == 2


@pytest.mark.promise("raised/32")
def test_a_form_of_another_server_reaches_a_person(model: Model, desk: Desk, boss: Boss) -> None:
    server = {"command": sys.executable, "args": [str(Path(other_server.__file__))], "alwaysLoad": True}
    config = desk.work / "other.json"
    config.write_text(json.dumps({"mcpServers": {"other": server}}))
    model.play(Call("deploy", {"what": "it"}), say_back)
    run = boss.run(CLAUDE, desk, TASK, "--", "--mcp-config", str(config))
    boss.answer(boss.next_question(run)["ref"], "approve")
    form = boss.next_question(run)
    assert form["questions"][0]["question"].startswith("Where shall it go?")
    boss.answer(form["ref"], "staging")

    assert run.finish()["state"] == "completed", run.report()
    assert '"content": {"where": "staging"}' in model.conversations[-1].results[-1]


@pytest.mark.promise("spec/63", "raised/43")
def test_codex_own_question_is_answered(model: Model, desk: Desk, boss: Boss) -> None:
    questions = [{**QUESTION, "id": "cache"}]
    model.play(Call("request_user_input", {"questions": questions}), say_back)
    run = boss.run(CODEX, desk, TASK)
    boss.answer(boss.next_question(run)["ref"], "Memcached")
    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert "Memcached" in model.conversations[-1].results[-1]


@pytest.mark.promise("spec/62")
@pytest.mark.promise("trust/78")
def test_a_prefix_that_is_remembered_holds_for_opencode(model: Model, desk: Desk, boss: Boss) -> None:
    first = Call("bash", {"command": "git status", "description": "See what has changed"})
    second = Call("bash", {"command": "git status .", "description": "See it once more"})
    model.play(first, second, Say("Nothing has changed."))
    run = boss.run(OPENCODE, desk, TASK)
    asked = boss.next_question(run)
    boss.said(desk, "answer", asked["ref"], "approve", "--always", "prefix")

    assert run.finish()["state"] == "completed", run.report()
    assert len(run.events("allowed_by_rule")) == 1
    assert len(model.conversations[-1].results) == 2


@pytest.mark.promise("trust/79")
@pytest.mark.parametrize("program", [CODEX, OPENCODE], ids=by_name)
def test_the_log_tells_what_a_program_does_that_is_talked_to(
    program: Program, model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(SHELL[program], Say("It is made."))
    run = boss.run(program, desk, TASK)
    asked = boss.next_question(run)
    assert "touch made" in boss.said(desk, "log", run.name)
    # The next daemon is told again what has happened before, and writes nothing twice.
    boss.kill_daemon()
    boss.said(desk, "status")
    boss.answer(asked["ref"], "approve")

    assert run.finish()["state"] == "completed", run.report()
    told = boss.said(desk, "log", run.name)
    assert told.count("touch made") == 1, told
    assert "It is made." in told
    assert "finished" in told


@pytest.mark.promise("spec/64")
@pytest.mark.parametrize("program", [CLAUDE, CODEX, OPENCODE, GEMINI], ids=by_name)
def test_a_command_is_shown_to_the_letter_and_run_only_if_it_is_approved(
    program: Program, model: Model, desk: Desk, boss: Boss
) -> None:
    """Those that take long to start ask everything that they can ask in the same run."""
    other = {**SHELL[program].arguments}
    other["cmd" if program is CODEX else "command"] = "touch other"
    asking = ASKING.get(program, ())
    model.play(*asking, SHELL[program], Call(SHELL[program].tool, other))
    model.follow(_end)
    run = boss.run(program, desk, TASK)
    questions: list[Json] = []
    for _ in asking:
        questions.append(boss.next_question(run))
        boss.answer(questions[-1]["ref"], "Memcached")
    for command, word in ((COMMAND, "approve"), ("touch other", "deny")):
        asked = boss.next_question(run)
        assert asked["kind"] == "approval"
        assert command in boss.said(desk, "show", asked["ref"])
        # What Gemini CLI tells is no tool's input, and drawn as a command all the same.
        assert program is not GEMINI or asked["questions"][0]["question"] == command
        boss.answer(asked["ref"], word)

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert (desk.work / "made").exists()
    assert not (desk.work / "other").exists()
    results = model.conversations[-1].results
    assert all("Memcached" in result for result in results[: len(asking)])
    for question in questions:
        settled = boss.show(question["id"])
        assert settled["answer"]["collected_at"] is not None
        assert settled["resume"] is None


@pytest.mark.promise("spec/63")
def test_what_somebody_elses_server_does_in_codex_is_approved_and_its_form_filled_in(
    model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(*(Call("deploy", {"what": what}) for what in ("the site", "the rest")))
    model.follow(_end)
    run = boss.run(CODEX, desk, TASK, "--", "-c", f"mcp_servers.other={OTHER_SERVER}")
    approval = boss.next_question(run)
    assert approval["kind"] == "approval"
    shown = boss.said(desk, "show", approval["ref"])
    assert "mcp__other__deploy" in shown
    assert "the site" in shown
    boss.answer(approval["ref"], "approve")
    form = boss.next_question(run)
    assert "Where shall it go?" in form["context"]
    boss.answer(form["ref"], "staging")
    boss.answer(boss.next_question(run)["ref"], "deny")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    deployed, refused = model.conversations[-1].results
    assert "Deployed" in deployed
    assert "staging" in deployed
    assert "Deployed" not in refused


def _end(conversation: Conversation) -> Turn:
    return Say("I go on.")
