"""Codex in a terminal that its person has left: its dialogs go to people elsewhere, and the first answer wins.

Codex asks once whether it may run the hooks, as it does of every new hook.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents import other_server
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CODEX, Desk, need
from tests.agents.screens import Screen
from tests.agents.script import Call, Conversation, Say, Turn
from tests.agents.stories import SUBTASK, TASK, delegate
from tests.agents.test_setup import upcall

CACHES = [{"label": "Redis", "description": "x"}, {"label": "Memcached", "description": "y"}]
QUESTION = {"id": "cache", "header": "Cache", "question": "Which cache?", "options": CACHES}
ASK = Call("request_user_input", {"questions": [QUESTION]})
ENDLESSLY = hex(2**64 - 1)
"""How long a call waits that has no limit: `-1`, as Linux shows it."""


def touch(desk: Desk, number: int) -> Call:
    """A command outside of the sandbox."""
    words = {"sandbox_permissions": "require_escalated", "justification": "it is needed"}
    return Call("exec_command", {"cmd": f"touch {desk.work}/made{number}", **words})


@pytest.fixture
def set_up(desk: Desk, owner: Person) -> Iterator[Desk]:
    """A desk where `upcall setup codex --away` was run, in a folder that Codex trusts."""
    need(CODEX)
    with (desk.home / ".codex/config.toml").open("a") as file:
        file.write(f'[projects."{desk.work}"]\ntrust_level = "trusted"\n')
        command = f'command = "{sys.executable}"\nargs = ["{Path(other_server.__file__)}"]\n'
        # Otherwise Codex begins before its tools are there, or has its model search for them.
        file.write(
            f'[mcp_servers.other]\n{command}required = true\nomit_tools_from = ["deferred", "code_mode"]\n'
            "supports_parallel_tool_calls = true\n"
        )
        file.write("[features]\ndefault_mode_request_user_input = true\nmulti_agent_v2 = true\n")
    done = upcall(desk, owner, "setup", "codex", "--away", "--yes")
    assert done.returncode == 0, done.stderr
    yield desk
    stop_server(desk)


def stop_server(desk: Desk) -> None:
    """End what Codex has left in the background: its server, and the process that keeps the server up to date."""
    stop = [desk.program_file(CODEX), "app-server", "daemon", "stop"]
    subprocess.run(stop, env=desk.environment, check=True, stdout=subprocess.DEVNULL, timeout=60)
    updater = desk.home / ".codex/app-server-daemon/daemon-updater.pid"
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(json.loads(updater.read_text("utf-8"))["pid"], signal.SIGTERM)


def waits_for_keys(screen: Screen) -> bool:
    """Whether Codex reads keys. While it still discards what was typed before, a key makes it end itself with an error.

    It reads them in a second thread with the name of its main one, which waits for them without limit.
    """
    calls = screen.calls_of("codex-main")
    return ["running"] not in calls and any(call[4:5] == [ENDLESSLY] for call in calls)


@pytest.fixture
def screen(set_up: Desk) -> Iterator[Screen]:
    """Codex with its hooks trusted, ready for a prompt."""
    opened = Screen(set_up, CODEX, "-a", "on-request")
    config = set_up.home / ".codex/config.toml"
    try:
        opened.until("Trust all and continue", "esc skip")
        opened.until_seen(lambda: waits_for_keys(opened))
        opened.mark("Trust all and continue")
        opened.press("\r", lambda: "trusted_hash" in config.read_text("utf-8"))
        yield opened
    finally:
        opened.close()


@pytest.mark.promise("raised/10")
def test_dialogs_of_codex_go_to_the_phone_the_first_answer_wins_and_without_a_daemon_all_is_as_before(
    model: Model, screen: Screen, owner: Person, set_up: Desk
) -> None:
    commands = [touch(set_up, number) for number in range(3)]
    model.play([Say("I need a cache."), ASK], *commands, Say("All is done."), Say("Bye."))
    screen.prompt("Do the task.")

    question = owner.next_question(screen)
    assert (question["asker"], question["state"]) == ("codex in project", "open")
    screen.until("Which cache?", "Memcached")
    owner.answer(question["ref"], "Memcached")

    approval = owner.next_question(screen)
    owner.collected(question["id"])
    screen.until("made0")
    owner.answer(approval["ref"], "approve", "--note", "hurry")
    typed = owner.next_question(screen)
    assert (set_up.work / "made0").exists()
    screen.until("Would you like to run")
    screen.press("y", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"
    denied = owner.next_question(screen)
    assert (set_up.work / "made1").exists()
    owner.answer(denied["ref"], "deny", "--note", "not this one")

    finished = owner.next_question(screen)
    assert not (set_up.work / "made2").exists()
    assert "All is done." in finished["context"]
    owner.answer(finished["ref"], "Say bye.")
    told = model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    heard = "\n".join(told.prompts + told.results)
    assert "Memcached" in heard
    assert "hurry" in heard
    assert "not this one" in heard

    assert upcall(set_up, owner, "down").returncode == 0
    model.play(touch(set_up, 3), Say("That is all."))
    screen.prompt("Once more.")
    screen.until("Would you like to run")
    screen.press("y", (set_up.work / "made3").exists)
    screen.until("That is all.")


@pytest.mark.promise("raised/10")
def test_what_a_subagent_of_codex_asks_is_decided_elsewhere_or_in_the_terminal(
    model: Model, screen: Screen, owner: Person, set_up: Desk
) -> None:
    def act(heard: Conversation) -> Turn:
        if any(SUBTASK in prompt for prompt in heard.prompts) and len(heard.results) < 3:
            return touch(set_up, len(heard.results))
        return delegate(heard)

    model.follow(act)
    screen.prompt(TASK)
    for word in ("approve", "deny"):
        asked = owner.next_question(screen)
        assert (asked["asker"], asked["kind"]) == ("codex in project", "approval")
        owner.answer(asked["ref"], word)
    typed = owner.next_question(screen)
    screen.press("y", lambda: owner.show(typed["id"])["state"] != "open")
    assert owner.ended(typed["id"])["resolution"]["via"] == "own_terminal"

    finished = owner.next_question(screen)
    assert [(set_up.work / f"made{number}").exists() for number in range(3)] == [True, False, True]
    assert finished["session"] == typed["session"]
    assert "I was told" in finished["context"]


@pytest.mark.promise("raised/9", "raised/10")
def test_a_session_of_codex_whose_terminal_is_gone_takes_the_answer_at_its_server(
    model: Model, screen: Screen, owner: Person, set_up: Desk
) -> None:
    model.play(touch(set_up, 0), Say("All is done."))
    screen.prompt("Do the task.")
    approval = owner.next_question(screen)
    screen.hang_up()
    assert owner.show(approval["id"])["state"] == "open"
    owner.answer(approval["ref"], "approve")
    model.wait_for(lambda heard: heard.results)
    assert (set_up.work / "made0").exists()


@pytest.mark.promise("raised/10")
def test_a_tool_of_another_server_is_approved_elsewhere_and_its_form_stays_in_the_terminal(
    model: Model, screen: Screen, owner: Person
) -> None:
    model.play(Call("deploy", {"what": "the shop"}), Say("All is done."))
    screen.prompt("Do the task.")
    approval = owner.next_question(screen)
    assert approval["kind"] == "approval"
    assert "the shop" in approval["questions"][0]["question"]
    owner.answer(approval["ref"], "approve")
    screen.until("Where shall it go?")
    screen.press("\x1b", lambda: any(heard.results for heard in model.conversations))
    screen.until("All is done.")


@pytest.mark.promise("raised/10")
def test_two_tools_at_once_are_each_decided_by_what_they_were_shown_with(
    model: Model, screen: Screen, owner: Person
) -> None:
    calls = [Call("deploy", {"what": what}) for what in ("the shop", "the blog")]
    model.play(calls, Say("All is done."))
    screen.prompt("Do the task.")
    asked = [owner.next_question(screen) for _ in calls]
    shop, blog = sorted(asked, key=lambda each: "the blog" in each["questions"][0]["question"])
    assert "the shop" in shop["questions"][0]["question"]
    assert [owner.show(each["id"])["state"] for each in asked] == ["open", "open"]
    owner.answer(blog["ref"], "deny")
    owner.answer(shop["ref"], "approve")

    # Only a tool that runs has a form.
    screen.until("Where shall it go?")
    screen.press("\x1b", lambda: not model.left)
    heard = model.wait_for(lambda heard: heard.results)
    assert ["Deployed" in result for result in heard.results] == [True, False]
