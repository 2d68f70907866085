"""CrewAI: calls of tools, decided by a person, from an environment with an older MCP SDK."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_crewai.py::test_a_call_of_crewai_survives_the_program_and_runs_once"
# A crew that is started again begins its task anew, so the model is asked for the same call again.
REMOVE = Call("remove", {"folder": "build"})


@pytest.mark.promise("programs/22", "programs/23", "programs/24")
async def test_a_call_of_crewai_survives_the_program_and_runs_once(story_with_older_mcp: Story) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    story.model.play(REMOVE, REMOVE, say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("crewai-")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 3


@pytest.mark.promise("programs/24")
async def test_a_call_of_crewai_that_was_edited_meanwhile_runs_once_as_it_was_edited(
    story_with_older_mcp: Story,
) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    story.model.play(REMOVE, REMOVE, say_back)

    inquiry = await story.killed_while_asking()
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    assert await story.who_decided(inquiry) == ("ana", "api")


UNDECIDED = """
import os

from crewai.hooks import ToolCallHookContext
from crewai.hooks.tool_hooks import run_after_tool_call_hooks, run_before_tool_call_hooks

from upcall import crewai

def tried():
    call = ToolCallHookContext(tool_name="Remove folder", tool_input={"folder": "build"}, tool=None)
    blocked = run_before_tool_call_hooks(call)
    call.tool_result = "blocked" if blocked else "removed"
    print(run_after_tool_call_hooks(call))


with crewai.approvals("nightly", ["Remove folder"], timeout=0):
    tried()
os.environ["UPCALL_TOKEN"] = "revoked"
with crewai.approvals("nightly", ["remove_folder"]):
    tried()
with crewai.approvals("nightly", ["another"]):
    tried()
tried()
"""


async def test_a_call_of_crewai_about_which_no_person_decides_is_blocked(story_with_older_mcp: Story) -> None:
    """The library itself goes on with a call whose hook fails."""
    story = story_with_older_mcp
    (story.work / "program.py").write_text(UNDECIDED, "utf-8")

    said = (await story.goes_on()).splitlines()[-4:]

    assert said[0] == "Not allowed: no person has decided yet"
    assert said[1].startswith("Not allowed: no person could be asked: ")
    assert said[2:] == ["removed", "removed"], "calls of other tools, and outside of the block, are not held"


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from crewai.hooks import ToolCallHookContext
from crewai.hooks.tool_hooks import run_after_tool_call_hooks, run_before_tool_call_hooks

from upcall import crewai

INPUTS = [{"folder": "build"}, {"folder": "build"}]


def run(given):
    # As the library does it for each of the calls of a turn, in a thread of its own.
    call = ToolCallHookContext(tool_name="remove", tool_input=given, tool=None)
    blocked = run_before_tool_call_hooks(call)
    done.wait()
    return run_after_tool_call_hooks(
        ToolCallHookContext(
            tool_name="remove", tool_input=given, tool=None, tool_result="blocked" if blocked else "removed"
        )
    )


done = Barrier(2)
with crewai.approvals("nightly", ["remove"]), ThreadPoolExecutor() as pool:
    print(sorted(pool.map(run, INPUTS)))
"""


@pytest.mark.promise("programs/36")
async def test_of_two_same_calls_of_crewai_at_once_the_denied_one_alone_is_told_so(
    story_with_older_mcp: Story,
) -> None:
    story = story_with_older_mcp
    (story.work / "program.py").write_text(AT_ONCE, "utf-8")

    process = await story.start()
    first, second = await story.both_asked(process)
    await story.crew.said(first["ref"], "Deny", note="it is needed")
    await story.crew.said(second["ref"], "Approve")
    said = await story.finished(process)

    assert "['Denied by ana: it is needed', 'removed']" in said
