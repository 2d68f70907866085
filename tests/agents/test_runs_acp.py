"""Runs of a real agent that is known by the Agent Client Protocol alone: its forms and its permission prompts."""

import json
from collections.abc import Iterator

import pytest

from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.programs import CODEX_ACP, Desk
from tests.agents.runs import Boss, Run, a_boss
from tests.agents.script import Call, Conversation, Say, Turn, say_back

SETTINGS = """
[agents.codex-acp]
adapter = "acp"
start = ["codex-acp"]
"""
TASK = "Set up the cache."
CACHE: Json = {
    "id": "cache",
    "header": "Cache",
    "question": "Which cache?",
    "options": [
        {"label": "Redis", "description": "Keeps data"},
        {"label": "Memcached", "description": "Simple"},
    ],
}
SIZE: Json = {**CACHE, "id": "size", "header": "Size", "question": "How large?"}


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """One daemon for all of them."""
    with a_boss(tmp_path_factory.mktemp("upcall"), SETTINGS) as owner:
        yield owner


def begin(boss: Boss, desk: Desk) -> Run:
    """A run in the mode in which its actions are a person's business, with the question tool that Codex has."""
    features = {"default_mode_request_user_input": True}
    desk.environment["CODEX_CONFIG"] = json.dumps({"features": features})
    desk.environment["INITIAL_AGENT_MODE"] = "workspace-write"
    return boss.run(CODEX_ACP, desk, TASK)


@pytest.mark.promise("spec/64")
@pytest.mark.parametrize("answer", ["Memcached", "Valkey, of course"])
def test_a_form_is_filled_in_with_a_choice_or_in_ones_own_words(
    model: Model, desk: Desk, boss: Boss, answer: str
) -> None:
    model.play(Call("request_user_input", {"questions": [CACHE]}), say_back)
    run = begin(boss, desk)
    asked = boss.next_question(run)
    (question,) = asked["questions"]
    assert (question["header"], question["question"]) == ("Cache", "Which cache?")
    assert question["options"] == [
        {"label": "Redis", "description": "Keeps data"},
        {"label": "Memcached", "description": "Simple"},
    ]
    run.until(lambda now: now["state"] == "waiting_input")
    boss.answer(asked["ref"], answer)

    over = run.finish()
    assert (over["state"], run.starts()) == ("completed", 1), run.report()
    assert answer in model.conversations[-1].results[-1]
    assert boss.show(asked["id"])["answer"]["collected_at"] is not None


def test_a_form_that_is_declined_has_no_answer_in_it(model: Model, desk: Desk, boss: Boss) -> None:
    model.play(Call("request_user_input", {"questions": [CACHE, SIZE]}))
    model.follow(lambda _: Say("I go on."))
    run = begin(boss, desk)
    asked = boss.next_question(run)
    assert [each["question"] for each in asked["questions"]] == ["Which cache?", "How large?"]
    boss.said(desk, "reject", asked["ref"])

    assert run.finish()["state"] == "completed", run.report()
    assert not any(word in str(model.conversations[-1].results) for word in ("Redis", "Memcached"))


def test_a_command_runs_only_if_it_is_approved_and_the_agent_goes_on_after_a_no(
    model: Model, desk: Desk, boss: Boss
) -> None:
    """This agent ends its turn at a no and waits to be told more, which it is."""
    model.play(*(_touch(name) for name in ("made", "other")))
    model.follow(_end)
    run = begin(boss, desk)
    for name, word in (("made", "approve"), ("other", "deny")):
        asked = boss.next_question(run)
        assert asked["kind"] == "approval"
        assert f"touch {name}" in boss.said(desk, "show", asked["ref"])
        boss.answer(asked["ref"], word)

    over = run.finish()
    assert (over["state"], over["result"], run.starts()) == ("completed", "I go on.", 1), run.report()
    assert (desk.work / "made").exists()
    assert not (desk.work / "other").exists()
    assert "Actions of yours were denied" in model.conversations[-1].prompts[-1]


def _touch(name: str) -> Call:
    return Call("exec_command", {"cmd": f"touch {name}", "sandbox_permissions": "require_escalated"})


def _end(conversation: Conversation) -> Turn:
    return Say("I go on.")
