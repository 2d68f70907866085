"""A terminal that hangs up in the moment of an answer: a hook gets the answer, and its program is about to end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, COPILOT, GEMINI, OPENCODE, Desk, Program, need
from tests.agents.runs import at_work_in
from tests.agents.screens import Screen, settle_in
from tests.agents.script import Say
from tests.agents.test_away_gemini import rested_owner
from tests.agents.test_setup import upcall

READY = {
    CLAUDE: ("for shortcuts",),
    OPENCODE: ("Ask anything",),
    GEMINI: ("Type your message",),
    COPILOT: ("commands", "help"),
}
WORDS = {CLAUDE: ("--permission-mode", "default")}

__all__ = ["rested_owner"]


@contextmanager
def sitting_at(program: Program, desk: Desk, owner: Person) -> Iterator[Screen]:
    """A program with the hooks of `--away`, ready for a prompt, whose person has left."""
    need(program)
    settle_in(desk)
    done = upcall(desk, owner, "setup", program.name, "--away", "--yes")
    assert done.returncode == 0, done.stderr
    assert upcall(desk, owner, "away", "on").returncode == 0
    opened = Screen(desk, program, *WORDS.get(program, ()))
    try:
        opened.until(*READY[program])
        yield opened
    finally:
        opened.close()


@pytest.mark.promise("raised/48")
@pytest.mark.parametrize("program", (CLAUDE, OPENCODE), ids=lambda program: program.name)
def test_an_answer_in_the_moment_of_a_hang_up_brings_the_session_back(
    model: Model, desk: Desk, owner: Person, program: Program
) -> None:
    model.play(Say("All is done."), Say("Bye."))
    with sitting_at(program, desk, owner) as screen:
        screen.prompt("Do the task.", model.is_spoken_to)
        finished = owner.next_question(screen)
        screen.lose()
        owner.answer_at_once(finished["id"], "Say bye.")

        model.wait_for(lambda heard: any("Say bye." in prompt for prompt in heard.prompts))
    owner.collected(finished["id"])
    (run,) = owner.client.get("/v1/runs")["items"]
    assert (run["agent"], run["session"]) == (program.name, finished["session"])


@pytest.mark.cold
@pytest.mark.promise("raised/48")
def test_an_answer_in_the_moment_of_a_hang_up_brings_a_session_of_gemini_back(
    model: Model, desk: Desk, rested_owner: Person
) -> None:
    model.play(Say("All is done."), Say("Bye."))
    with sitting_at(GEMINI, desk, rested_owner) as screen:
        screen.prompt("Do the task.", model.is_spoken_to)
        finished = rested_owner.next_question(screen)
        screen.lose()
        rested_owner.answer_at_once(finished["id"], "Say bye.")

        model.wait_for(lambda heard: "The user answered: Say bye." in heard.prompts[-1])
    (run,) = rested_owner.client.get("/v1/runs")["items"]
    assert (run["agent"], run["session"]) == ("gemini", finished["session"])


@pytest.mark.promise("raised/48")
def test_what_copilot_was_told_in_the_moment_of_a_hang_up_is_shown_as_not_collected(
    model: Model, desk: Desk, owner: Person
) -> None:
    # In its last moments, Copilot CLI may still go on with the words, and be cut off.
    model.play(Say("All is done."), Say("Bye."))
    with sitting_at(COPILOT, desk, owner) as screen:
        screen.prompt("Do the task.", model.is_spoken_to)
        finished = owner.next_question(screen)
        screen.lose()
        owner.answer_at_once(finished["id"], "Say bye.")
        screen.until_seen(lambda: not at_work_in(desk.work))
    assert owner.show(finished["id"])["answer"]["collected_at"] is None
    assert "the agent has not collected it yet" in upcall(desk, owner, "show", finished["id"]).stdout
    assert owner.client.get("/v1/runs")["items"] == []
