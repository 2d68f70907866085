"""The Claude Agent SDK with the Claude Code that it brings: permissions and questions, decided by a person."""

import pytest

from tests.agents.plans import SEARCH, written
from tests.agents.script import Call, Say, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_claude.py::test_a_call_of_claude_survives_the_program_and_runs_once"
REMOVE = Call("Bash", {"command": "echo build >> removed.txt; echo done", "description": "removes it"})
EDITED = {**REMOVE.arguments, "command": "echo dist >> removed.txt; echo done"}
QUESTION = {
    "question": "Which database?",
    "header": "DB",
    "multiSelect": False,
    "options": [{"label": "Postgres", "description": ""}, {"label": "SQLite", "description": "a file"}],
}


@pytest.mark.promise("programs/7", "programs/16", "programs/23", "programs/24")
async def test_a_call_of_claude_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(REMOVE, say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("claude-toolu_")
    assert inquiry["session"] == (story.work / "session.txt").read_text("utf-8")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: done" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert "Approved by ana" in str(story.model.requests[-1].body)


@pytest.mark.promise("programs/16", "programs/24")
async def test_a_call_of_claude_that_was_edited_meanwhile_runs_once_as_it_was_edited(story: Story) -> None:
    story.write(STORY)
    story.model.play(REMOVE, say_back)

    inquiry = await story.killed_while_asking()
    await story.crew.said(inquiry["ref"], "Approve", input=EDITED)
    said = await story.goes_on()

    assert "I was told: done" in said
    assert story.removed == ["dist"]
    assert await story.who_decided(inquiry) == ("ana", "api")
    told = str(story.model.requests[-1].body)
    assert "Approved by ana" in told
    assert "+echo dist >> removed.txt; echo done" in told


def removing(folder: str) -> Call:
    return Call("Bash", {"command": f"echo {folder} >> removed.txt", "description": f"removes {folder}"})


@pytest.mark.promise("programs/35")
async def test_calls_of_claude_that_come_one_after_the_other_are_each_put_to_a_person(story: Story) -> None:
    story.write(STORY)
    story.model.play(removing("build"), removing("dist"), removing("cache"), Say("Tidy."))

    process = await story.start()
    for folder in ("build", "dist", "cache"):
        inquiry = await story.asked(process)
        assert folder in inquiry["action"]["input"]["command"]
        await story.crew.said(inquiry["ref"], "Approve")
    said = await story.finished(process)

    assert "Tidy." in said
    assert story.removed == ["build", "dist", "cache"]


@pytest.mark.promise("programs/35")
async def test_of_two_calls_of_a_turn_of_claude_no_question_is_left_over(story: Story) -> None:
    """One is deferred, and the model has to make the other again, which has a question of its own then."""
    story.write(STORY)
    story.model.play([removing("build"), removing("dist")], removing("dist"), Say("Tidy."))

    process = await story.start()
    for _ in range(2):
        await story.crew.said((await story.asked(process))["ref"], "Approve")
    await story.finished(process)

    assert sorted(story.removed) == ["build", "dist"]
    assert [each async for each in story.crew.ana.find(state="open")] == []


HELD = """
import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from upcall import claude


async def main():
    async with ClaudeSDKClient(ClaudeAgentOptions(can_use_tool=claude.can_use_tool())) as session:
        await session.query("Remove the build.")
        async for message in session.receive_response():
            if isinstance(message, ResultMessage):
                print(message.result)


anyio.run(main)
"""


@pytest.mark.promise("programs/16")
async def test_a_call_that_the_callback_of_claude_holds_runs_as_it_was_edited(story: Story) -> None:
    (story.work / "program.py").write_text(HELD, "utf-8")
    story.model.play(REMOVE, say_back)

    process = await story.start()
    await story.crew.said((await story.asked(process))["ref"], "Approve", input=EDITED)
    said = await story.finished(process)

    assert "I was told: done" in said
    assert story.removed == ["dist"]


INTERRUPTED = """
import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

from upcall import claude


async def main():
    asked = anyio.Event()
    decide = claude.can_use_tool(progress=lambda progress: asked.set())
    async with ClaudeSDKClient(ClaudeAgentOptions(can_use_tool=decide)) as session:
        await session.query("Remove the build.")
        await asked.wait()
        await session.interrupt()
        async for message in session.receive_response():
            print(type(message).__name__)


anyio.run(main)
"""


@pytest.mark.promise("programs/8")
async def test_a_call_that_the_callback_of_claude_holds_is_withdrawn_when_it_is_interrupted(
    story: Story,
) -> None:
    (story.work / "program.py").write_text(INTERRUPTED, "utf-8")
    story.model.play(REMOVE)

    assert "ResultMessage" in await story.goes_on()

    (asked,) = [each async for each in story.crew.ana.find(state="closed")]
    assert (asked["state"], asked["resolution"]["reason"]) == (
        "cancelled",
        "the program that asked was cancelled",
    )
    assert story.removed == []


@pytest.mark.promise("programs/16")
async def test_a_question_of_claude_is_asked_as_one_and_its_answer_is_the_result(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("AskUserQuestion", {"questions": [QUESTION]}), say_back)

    process = await story.start()
    inquiry = await story.asked(process)
    assert [each["label"] for each in inquiry["questions"][0]["options"]] == ["Postgres", "SQLite"]
    await story.crew.said(inquiry["ref"], "SQLite")
    said = await story.finished(process)

    assert "SQLite" in said


NOTHING_WAITS = """
import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

from upcall import claude

claude.TAKEN_UP_SECONDS = 1.0


async def main():
    async for message in claude.query(prompt="Hello."):
        if isinstance(message, ResultMessage):
            session = message.session_id
    try:
        async for message in claude.query(prompt=None, options=ClaudeAgentOptions(resume=session)):
            print(message)
    except LookupError as problem:
        print(problem)


anyio.run(main)
"""


async def test_a_session_of_claude_in_which_no_call_waits_is_not_waited_for(story: Story) -> None:
    (story.work / "program.py").write_text(NOTHING_WAITS, "utf-8")
    story.model.play(Say("Hello."))

    assert "waits for a person: resume it with a prompt" in await story.goes_on()


PLANNING = """
import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from upcall import claude


async def main():
    options = ClaudeAgentOptions(permission_mode="plan", can_use_tool=claude.can_use_tool())
    async for message in query(prompt="Plan it.", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


anyio.run(main)
"""


@pytest.mark.promise("raised/11")
async def test_a_plan_of_claude_comes_through_the_control_protocol_and_goes_back_with_comments(
    story: Story,
) -> None:
    (story.work / "program.py").write_text(PLANNING, "utf-8")
    submit = Call("ExitPlanMode")
    story.model.play(
        SEARCH, written("1. Install Redis"), submit, written("1. Install SQLite"), submit, say_back
    )

    process = await story.start()
    first = await story.asked(process)
    assert (first["kind"], first["context"]) == ("plan", "1. Install Redis")
    await story.crew.said(first["ref"], "> Redis\nSQLite is enough")
    second = await story.asked(process)
    assert second["plan"]["before"] == "1. Install Redis"
    await story.crew.said(second["ref"], "Approve and accept edits")

    assert "User has approved your plan" in await story.finished(process)
    assert "> Redis\nSQLite is enough" in "".join(story.model.conversations[4].results)
