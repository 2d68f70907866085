"""Runs that cannot begin, cannot go on, or go on for ever, and what their people are told."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import CLAUDE, CODEX, Desk, Program, need
from tests.agents.runs import Boss, a_boss
from tests.agents.script import Call, Conversation, Turn, say_back
from tests.agents.stories import ASK, TASK, wait_for_record


@pytest.fixture(scope="module")
def boss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boss]:
    """A daemon under which an agent may ask twice at once, and then every hour."""
    settings = "[rates]\nper_second = 0.0003\nburst = 2\n"
    with a_boss(tmp_path_factory.mktemp("upcall"), settings) as owner:
        yield owner


def test_an_unknown_agent_is_refused_with_the_nearest_name(desk: Desk, boss: Boss) -> None:
    refused = boss.upcall(desk, "run", "cluade", TASK)
    assert refused.returncode != 0
    assert "there is no agent 'cluade'" in refused.stderr
    assert "did you mean 'claude'?" in refused.stderr


def test_a_program_that_is_not_installed_is_named_with_how_to_install_it(desk: Desk, boss: Boss) -> None:
    desk.environment["PATH"] = os.defpath
    refused = boss.upcall(desk, "run", "claude", TASK)
    assert refused.returncode != 0
    assert "'claude' is not installed" in refused.stderr
    assert "npm install -g @anthropic-ai/claude-code" in refused.stderr


def test_a_version_that_does_not_work_is_named_with_one_that_does(
    desk: Desk, boss: Boss, tmp_path: Path
) -> None:
    old = tmp_path / "old/claude"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho '1.0.3 (Claude Code)'\n")
    old.chmod(0o755)
    desk.environment["PATH"] = os.pathsep.join((str(old.parent), os.defpath))
    refused = boss.upcall(desk, "run", "claude", TASK)
    assert refused.returncode != 0
    assert "1.0.3" in refused.stderr
    assert "2.1.89 or newer" in refused.stderr
    assert json.loads(boss.said(desk, "runs", "--json"))["items"] == []


def test_a_run_whose_session_is_gone_fails_and_its_answer_is_kept(
    model: Model, desk: Desk, boss: Boss
) -> None:
    model.play(ASK)
    run = boss.run(CODEX, desk, TASK)
    question = boss.next_question(run)
    wait_for_record(desk, CODEX)
    run.kill()
    run.until(lambda now: now["exit_code"] is not None)
    for records in (desk.home / ".codex").glob("*sessions*"):
        shutil.rmtree(records)
    for database in (desk.home / ".codex").glob("*.sqlite*"):
        database.unlink()
    boss.answer(question["ref"], "Memcached")

    over = run.finish()
    assert (over["state"], over["reason"]) == ("failed", "resume_failed: session_gone"), run.report()
    assert run.starts() == 2
    settled = boss.show(question["id"])
    assert (settled["state"], settled["answer"]["answers"]) == ("answered", [["Memcached"]])
    assert (settled["resume"]["state"], settled["resume"]["attempts"]) == ("failed", 1)
    assert "session_gone" in boss.said(desk, "show", question["id"])


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)], ids=["laptop", "CI"]
)
def test_a_program_that_the_tests_lack_is_skipped_on_a_laptop_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=r"gone 1\.0 is missing"):
        need(Program(name="gone", version="1.0", file=Path("/nowhere")))


def test_an_agent_that_asks_in_a_loop_is_told_to_stop(model: Model, desk: Desk, boss: Boss) -> None:
    def ask_on(heard: Conversation) -> Turn:
        told = heard.results
        limited = told and "asks more than" in told[-1]
        return say_back(heard) if limited else Call("ask_human", {"question": f"And after {len(told)}?"})

    model.follow(ask_on)
    run = boss.run(CLAUDE, desk, TASK)
    for _ in range(2):
        boss.answer(boss.next_question(run)["ref"], "Go on")

    over = run.finish()
    assert over["state"] == "completed", run.report()
    assert "asks more than" in model.conversations[-1].results[-1]
    assert len(model.conversations[-1].results) == 3
