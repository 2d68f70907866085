"""Several agents at once, subagents, patience, and what people can do with a run: look at it, steer it, end it."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.runs import Boss, a_boss, at_work_in
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import ASK, SUBTASK, TASK, delegate
from tests.agents.work import PATIENCE

SUBAGENTS_OF_CODEX = ("--", "--enable", "multi_agent_v2")
"""Otherwise its model has to search for them first."""


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall")) as owner:
        yield owner


def test_runs_that_ask_at_once_each_get_their_own_answer(model: Model, desk: Desk, boss: Boss) -> None:
    tasks = {"Colour?": CLAUDE, "Size?": CODEX, "Shape?": OPENCODE, "Weight?": GEMINI}

    def ask_the_task(heard: Conversation) -> Turn:
        task = next(task for task in tasks for prompt in heard.prompts if prompt.startswith(task))
        return say_back(heard) if heard.results else Call("ask_human", {"question": task})

    model.follow(ask_the_task)
    runs = {task: boss.run(program, desk, task) for task, program in tasks.items()}
    for _ in runs:
        boss.next_question(*runs.values())
    answers = {"Weight?": "Heavy", "Shape?": "Round", "Size?": "Small", "Colour?": "Green"}
    for task, answer in answers.items():
        boss.said(desk, "answer", runs[task].name, answer)
    for task, answer in answers.items():
        assert answer in runs[task].finish()["result"], runs[task].report()


@pytest.mark.parametrize(
    ("program", "permission", "words"),
    [
        (CLAUDE, "approval", ()),
        (CODEX, "approval", SUBAGENTS_OF_CODEX),
        (CODEX, "autonomous", SUBAGENTS_OF_CODEX),
        (OPENCODE, "approval", ()),
        (GEMINI, "autonomous", ()),
    ],
    ids=lambda value: value.name if isinstance(value, Program) else None,
)
def test_a_subagent_asks_and_its_agent_hears_the_answer(
    model: Model, desk: Desk, boss: Boss, program: Program, permission: str, words: tuple[str, ...]
) -> None:
    """Also where its results are nowhere in the output. In its other mode Gemini CLI lets no subagent begin."""
    model.follow(delegate)
    run = boss.run(program, desk, TASK, "--permission", permission, *words)
    question = boss.next_question(run)
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert "Memcached" in over["result"]
    settled = boss.show(question["id"])
    assert settled["answer"]["collected_at"] is not None
    assert settled["resume"] is None


def test_what_a_subagent_of_codex_wants_to_do_is_a_persons_business_too(
    model: Model, desk: Desk, boss: Boss
) -> None:
    def act(heard: Conversation) -> Turn:
        if any(SUBTASK in prompt for prompt in heard.prompts) and len(heard.results) < 2:
            command = f"touch {('made', 'other')[len(heard.results)]}"
            return Call("exec_command", {"cmd": command, "sandbox_permissions": "require_escalated"})
        return delegate(heard)

    model.follow(act)
    run = boss.run(CODEX, desk, TASK, *SUBAGENTS_OF_CODEX)
    for word in ("approve", "deny"):
        asked = boss.next_question(run)
        assert asked["kind"] == "approval"
        boss.answer(asked["ref"], word)

    assert run.finish()["state"] == "completed", run.report()
    assert (desk.work / "made").exists()
    assert not (desk.work / "other").exists()


def test_a_call_waits_for_longer_than_the_program_would(model: Model, desk: Desk, boss: Boss) -> None:
    """The limit that its user has set for tools, here a second, is not that of people."""
    desk.environment["MCP_TOOL_TIMEOUT"] = "1000"
    model.play(ASK, say_back)
    run = boss.run(CLAUDE, desk, TASK)
    question = boss.next_question(run)
    boss.let_pass(3)
    boss.answer(question["ref"], "Memcached")
    assert "The user answered: Memcached" in run.finish()["result"]


def test_a_run_is_looked_at_and_told_to_go_on(model: Model, desk: Desk, boss: Boss) -> None:
    model.play(ASK, Say("Memcached it is."), Say("Tests are there too."))
    run = boss.run(CLAUDE, desk, TASK)
    question = boss.next_question(run)
    run.until(lambda now: now["turns"] == 1 and now["tool"] and now["state"] == "waiting_input")
    status = boss.said(desk, "status")
    assert f"#{run.name} claude: {TASK}" in status
    assert "Which cache?" in status
    shown = boss.said(desk, "show", run.name)
    assert "Turns: 1" in shown
    assert "Using: mcp__upcall__ask_human" in shown
    boss.answer(question["ref"], "Memcached")
    over = run.finish()
    assert over["tokens"]["input"] > 0
    assert over["cost"] is not None
    log = boss.said(desk, "log", run.name)
    for part in ("Which cache?", "The user answered: Memcached", "Memcached it is."):
        assert part in log
    taking_over = json.loads(boss.said(desk, "attach", run.name, "--json"))
    assert taking_over["argv"] == ["claude", "--resume", over["session"]]
    assert taking_over["cwd"] == str(desk.work)

    assert "continues with your message" in boss.said(desk, "say", run.name, "Now add a test.")
    assert run.finish()["result"] == "Tests are there too."
    assert (run.starts(), model.conversations[-1].prompts[-1]) == (2, "Now add a test.")


def test_cancelling_ends_everything_that_the_agent_has_started(model: Model, desk: Desk, boss: Boss) -> None:
    model.play(Call("Bash", {"command": "sleep 300", "description": "Wait"}))
    run = boss.run(CLAUDE, desk, TASK, "--permission", "autonomous")
    deadline = time.monotonic() + PATIENCE
    while "sleep" not in at_work_in(desk.work):
        assert time.monotonic() < deadline, run.report()
        time.sleep(0.02)
    assert "1 turn, Bash" in boss.said(desk, "status")
    boss.said(desk, "cancel", run.name)
    over = run.finish()
    assert over["state"] == "cancelled"
    assert over["reason"].startswith("cancelled by ")
    assert at_work_in(desk.work) == []
