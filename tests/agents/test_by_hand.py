"""Each real program, given our door by hand: it asks a person, and gets its answer in every case."""

import base64
import json
import re
from pathlib import Path

import pytest

from tests.agents import samples, stories
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, PROGRAMS, Desk, Program
from tests.agents.script import Call, Conversation, Say, Turn, say_back
from tests.agents.stories import Stage

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGM4IReFFTEMLQkAXhlQAeZkKhAAAAAASUVORK5CYII="
"""A small square, all of one colour."""

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@pytest.fixture
def stage(model: Model, desk: Desk, person: Person) -> Stage:
    return Stage(model=model, desk=desk, person=person)


@every_program
def test_a_program_goes_on_with_the_answer(program: Program, stage: Stage) -> None:
    work = stories.asked(stage, program)

    assert work.finish().code == 0, work.report()
    assert "Memcached" in stage.model.conversations[-1].results[-1]
    assert samples.kinds(work.lines) == samples.kinds(samples.read(f"{program.name}-asked"))


@pytest.mark.parametrize("program", (CLAUDE, CODEX, GEMINI), ids=lambda program: program.name)
def test_a_program_that_was_killed_goes_on_in_its_session(program: Program, stage: Stage) -> None:
    first = stories.killed(stage, program)
    second = stories.resumed(stage, program, stories.session_of(first))

    assert second.finish().code == 0, second.report()
    assert stories.session_of(second) == stories.session_of(first)
    prompts = stage.model.conversations[-1].prompts
    assert any(stories.TASK in prompt for prompt in prompts)
    assert stories.LATE in prompts[-1]
    assert samples.kinds(first.lines) == samples.kinds(samples.read(f"{program.name}-killed"))
    assert samples.kinds(second.lines) == samples.kinds(samples.read(f"{program.name}-resumed"))


@every_program
def test_nobody_to_allow_a_command_means_that_it_does_not_run(program: Program, stage: Stage) -> None:
    work = stories.refused(stage, program)

    assert work.finish().code == 0, work.report()
    assert not (stage.desk.work / "made").exists()
    assert samples.kinds(work.lines) == samples.kinds(samples.read(f"{program.name}-refused"))


def test_a_question_that_was_put_off_is_asked_when_its_session_goes_on(stage: Stage) -> None:
    first = stories.deferred(stage)
    put_off = first.events[-1]
    second = stories.undeferred(stage, stories.session_of(first))

    assert put_off["stop_reason"] == "tool_deferred"
    assert put_off["deferred_tool_use"]["input"] == stories.CACHE
    assert second.finish().code == 0, second.report()
    assert "Memcached" in stage.model.conversations[-1].results[-1]
    assert samples.kinds(second.lines) == samples.kinds(samples.read("claude-undeferred"))


def test_a_subagent_asks_and_its_agent_hears_the_answer(stage: Stage) -> None:
    work = stories.delegated(stage)

    assert work.finish().code == 0, work.report()
    last = stage.model.conversations[-1]
    assert any(stories.TASK in prompt for prompt in last.prompts)
    assert "Memcached" in last.results[-1]
    assert samples.kinds(work.lines) == samples.kinds(samples.read("claude-delegated"))


@pytest.mark.promise("trust/77")
def test_a_helper_of_codex_asks_for_the_session_that_it_helps(stage: Stage) -> None:
    def delegate(heard: Conversation) -> Turn:
        if "Message Type: NEW_TASK" in "".join(heard.prompts):
            return say_back(heard) if "Memcached" in "".join(heard.results) else stories.ASK
        if not heard.results:
            return Call("spawn_agent", {"task_name": "cache", "message": stories.SUBTASK})
        return Call("wait_agent", {}) if len(heard.results) == 1 else Say("Done.")

    stage.model.follow(delegate)
    work = stage.start(CODEX, stories.TASK, "--enable", "multi_agent_v2")
    question = stage.person.next_question(work)
    assert question["session"] == stories.session_of(work)
    stage.person.answer(question["ref"], "Memcached")

    assert work.finish().code == 0, work.report()
    assert any("Memcached" in "".join(heard.prompts) for heard in stage.model.conversations)


@pytest.mark.promise("desk/25")
@every_program
def test_a_picture_in_an_answer_reaches_the_model_and_where_it_does_not_its_path_does(
    program: Program, stage: Stage, tmp_path: Path
) -> None:
    shot = tmp_path / "shot.png"
    shot.write_bytes(base64.b64decode(PNG))
    stage.model.play(stories.ASK, say_back)
    work = stage.start(program, stories.TASK)
    question = stage.person.next_question(work)
    stage.person.answer(question["ref"], "Memcached", "--file", str(shot))

    assert work.finish().code == 0, work.report()
    sent = json.dumps(stage.model.requests[-1].body)
    assert (PNG in sent) is (program is not OPENCODE)
    assert "1-shot.png (image/png" in stage.model.conversations[-1].results[-1]


@pytest.mark.promise("desk/23")
@every_program
def test_a_model_hears_what_the_person_asks_back_replies_and_goes_on_with_the_answer(
    program: Program, stage: Stage
) -> None:
    def reply(heard: Conversation) -> Turn:
        (name,) = re.findall(r'wait_for_answer with id .?"(\w+)', heard.results[-1])
        return Call("wait_for_answer", {"id": name, "reply": "About forty."})

    stage.model.play(stories.ASK, reply, say_back)
    more = ("--allowedTools", "mcp__upcall__wait_for_answer") if program is CLAUDE else ()
    work = stage.start(program, stories.TASK, *more)
    question = stage.person.next_question(work)
    stage.person.ask_back(question["ref"], "For how many users?")
    (asked,) = stage.person.next_reply(question["ref"], work)
    stage.person.answer(question["ref"], "Memcached")

    assert work.finish().code == 0, work.report()
    assert (asked["text"], asked["reply"]) == ("For how many users?", "About forty.")
    told, answered = stage.model.conversations[-1].results
    assert "The person asks: For how many users?" in told
    assert "Memcached" in answered
    assert len(stage.person.client.every("/v1/inquiries")) == 1
