"""`upcall demo`, with a scripted human and with a person at a real terminal."""

import json
import re
import shlex
import shutil
import signal
import subprocess
from typing import Any

import pytest

from tests.cli.conftest import Program, heeding_ctrl_c
from tests.cli.test_terminal import Terminal


@pytest.mark.promise("spec/151")
def test_a_scripted_human_sees_the_demo_through(upcall: Program) -> None:
    done = upcall("demo", "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the agent has it") == 4
    assert "Each asked once" in done.stdout
    assert "Done. Only the commit message is missing." in done.stdout
    assert not done.stderr


def test_without_a_terminal_nobody_is_asked(upcall: Program) -> None:
    assert upcall("demo").returncode == 0


PROMPT = "you    "


def plain_demo(upcall: Program) -> Terminal:
    with heeding_ctrl_c():
        return Terminal(upcall, "demo", columns=100, NO_COLOR="1")


@pytest.mark.promise("desk/27")
def test_the_page_tells_the_same_story_and_a_denial_changes_it(upcall: Program) -> None:
    with plain_demo(upcall) as terminal:
        terminal.until(PROMPT)
        link = re.search(r"http://\S+/sign-in\?code=\S+", terminal.seen)
        home = re.search(r"UPCALL_HOME=(\S+)", terminal.seen)
        assert link
        assert home

        def waiting() -> dict[str, Any]:
            (found,) = json.loads(upcall("status", "--json", UPCALL_HOME=home[1]).stdout)["waiting"]
            return dict(found)

        assert waiting()["context"] == "I am adding a cache to the API. Two libraries would do."
        for reply in ("2", "1"):
            terminal.type(f"{reply}\n")
            terminal.until(PROMPT)
        assert "that is a migration" in waiting()["context"]
        terminal.type("no\n")
        terminal.until(PROMPT)
        assert waiting()["context"].startswith("Then I leave the migration alone.")
        terminal.type("chore\n")
        terminal.until("in all")
        assert terminal.end() == 0
    *_, last = [line.strip() for line in terminal.seen.splitlines() if line.strip()]
    words = shlex.split(last)
    assert shutil.which(words[0]) is not None
    ended = subprocess.run(
        [*words, "--help"], capture_output=True, text=True, check=False, env=upcall.environment
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.promise("trust/9")
def test_a_person_answers_in_their_own_way(upcall: Program) -> None:
    with plain_demo(upcall) as terminal:
        # What is no clear yes or no and the empty one are refused, and asked again.
        for reply in ("2", "lint, tests", "sure", "no, after the release", "", "Use Memcached"):
            terminal.until(PROMPT)
            terminal.type(f"{reply}\n")
        terminal.until("in all")

        assert terminal.end() == 0
    assert "Traceback" not in terminal.seen
    for said in (
        "answered: Memcached",
        "answered: lint, tests",
        "'sure' is neither a yes nor a no",
        "The user denied this",
        "after the release",
        "Then I leave the migration alone.",
        "not an answer",
    ):
        assert said in terminal.seen
    assert "Done." not in terminal.seen


def test_somebody_in_another_terminal_may_be_faster(upcall: Program) -> None:
    with plain_demo(upcall) as terminal:
        terminal.until(PROMPT)
        home = re.search(r"UPCALL_HOME=(\S+)", terminal.seen)
        ref = re.search(r"#(\w+)  Which cache", terminal.seen)
        assert home
        assert ref
        assert upcall("answer", ref[1], "1", UPCALL_HOME=home[1]).returncode == 0
        terminal.until(PROMPT)
        terminal.process.send_signal(signal.SIGINT)
        terminal.end()
    assert "(answered elsewhere)" in terminal.seen
    assert "The user answered: Redis" in terminal.seen


def test_leaving_in_the_middle_leaves_nothing_behind(upcall: Program) -> None:
    with plain_demo(upcall) as terminal:
        terminal.until(PROMPT)
        terminal.process.send_signal(signal.SIGINT)

        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
