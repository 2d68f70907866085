"""Plans of the real programs, put to people: sent back with comments, compared with the one before, and carried out."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.agents.model_server import Model
from tests.agents.plans import SEARCH, SUBMIT, written
from tests.agents.programs import CLAUDE, CODEX, CODEX_ACP, OPENCODE, Desk, Program
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Call, Conversation, Look, Say, Turn, say_back
from tests.agents.stories import ASK
from tests.agents.test_activity import observed

FIRST = "# Cache\n\n1. Install Redis\n2. Write `cache.txt`"
SECOND = FIRST.replace("Redis", "Memcached")
SETTINGS = """
hook_wait = "1s"

[agents.codex-acp]
adapter = "acp"
start = ["codex-acp"]
"""
STEPS = [
    {"step": "Install Redis", "status": "completed"},
    {"step": "Write the settings", "status": "in_progress"},
    {"step": "Test it", "status": "pending"},
]
OPTIONS = [{"label": "Redis", "description": "x"}, {"label": "Memcached", "description": "y"}]
QUESTION = {"id": "cache", "header": "Cache", "question": "Which cache?", "options": OPTIONS}
OPENCODE_FILE = re.compile(r"/[^\s\"'`]*/\.opencode/plans/[^\s\"'`]+\.md")


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them. That it holds hooks for a moment only makes no difference to plans."""
    with a_boss(tmp_path_factory.mktemp("upcall"), SETTINGS) as owner:
        yield owner


@pytest.mark.promise("raised/11", "raised/14", "raised/15")
def test_a_plan_of_claude_is_sent_back_with_comments_and_then_carried_out(
    model: Model, desk: Desk, boss: Boss
) -> None:
    edit = Call("Write", {"file_path": str(desk.work / "cache.txt"), "content": "x"})
    fetch = Call("Bash", {"command": "make fetch", "description": "Fetch"})
    model.play(SEARCH, Call("EnterPlanMode"), written(FIRST), SUBMIT, written(SECOND), SUBMIT)
    model.play(edit, fetch, Say("Done."))
    run = boss.run(CLAUDE, desk, "Plan a cache.")
    first = boss.next_question(run)
    assert (first["kind"], first["context"]) == ("plan", FIRST)
    boss.answer(first["ref"], "revise L3: Memcached is enough")
    told = model.wait_for(lambda heard: "Memcached is enough" in "".join(heard.results))
    assert "> 1. Install Redis\nMemcached is enough" in told.results[-1]

    second = boss.next_question(run)
    assert "-1. Install Redis\n+1. Install Memcached" in second["plan"]["difference"]
    boss.answer(second["ref"], "Approve and accept edits")
    # Edits are accepted, and commands are put to people as before: nothing is bypassed.
    command = boss.next_question(run)
    assert (command["kind"], command["questions"][0]["question"]) == ("approval", "make fetch")
    assert (desk.work / "cache.txt").exists()
    boss.answer(command["ref"], "deny")
    assert run.finish()["state"] == "completed", run.report()
    assert boss.show(second["id"])["answer"]["collected_at"] is not None


def written_for_opencode(plan: str) -> Look:
    """The turn that writes a plan where opencode wants it."""

    def turn(conversation: Conversation) -> Turn:
        found = OPENCODE_FILE.search(f"{conversation.system} {conversation.messages}")
        assert found, (conversation.system, conversation.messages)
        return Call("write", {"filePath": found[0], "content": plan})

    return turn


@pytest.mark.promise("raised/16")
def test_a_plan_of_the_plan_agent_of_opencode_is_sent_back_and_then_built(
    model: Model, desk: Desk, boss: Boss
) -> None:
    submit = Call("plan_exit")
    model.play(written_for_opencode(FIRST), submit, written_for_opencode(SECOND), submit, Say("Done."))
    run = boss.run(OPENCODE, desk, "Plan a cache.", "--", "--agent", "plan")
    first = boss.next_question(run)
    assert (first["kind"], first["context"]) == ("plan", FIRST), first["context"]
    assert "Approve and accept edits" not in [each["label"] for each in first["questions"][0]["options"]]
    boss.answer(first["ref"], "revise L3: Memcached is enough")
    model.wait_for(lambda heard: "> 1. Install Redis\nMemcached is enough" in "\n".join(heard.prompts))

    second = boss.next_question(run)
    assert "+1. Install Memcached" in second["plan"]["difference"]
    boss.answer(second["ref"], "approve")
    assert run.finish()["state"] == "completed", run.report()
    assert any("has been approved" in prompt for prompt in model.conversations[-1].prompts)


@pytest.mark.promise("raised/16")
@pytest.mark.parametrize("program", [CODEX, CODEX_ACP], ids=lambda each: each.name)
def test_the_plan_that_codex_follows_stands_beside_its_question(
    model: Model, desk: Desk, boss: Boss, program: Program
) -> None:
    """Codex tells its plan and has nothing decided about it, over its own protocol and over that of all agents."""
    asking = ASK if program is CODEX else Call("request_user_input", {"questions": [QUESTION]})
    model.play(Call("update_plan", {"plan": STEPS}), asking, say_back)
    features = {"default_mode_request_user_input": True}
    config = {"tools": {"update_plan": {"enabled": True}}, "features": features}
    desk.environment |= {"CODEX_CONFIG": json.dumps(config), "INITIAL_AGENT_MODE": "workspace-write"}
    switched_on = ("--", "-c", "tools.update_plan.enabled=true") if program is CODEX else ()
    run = boss.run(program, desk, "Set up the cache.", *switched_on)
    question = boss.next_question(run)
    plan = "- [x] Install Redis\n- [ ] **Write the settings**\n- [ ] Test it"
    assert observed(boss, question["id"])["plan"] == plan
    boss.answer(question["ref"], "Redis")
    assert run.finish()["state"] == "completed", run.report()
    lines = boss.client.get(f"/v1/runs/{run.number}/log")["lines"]
    assert plan in [line["text"] for line in lines if line["kind"] == "plan"]
