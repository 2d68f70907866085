"""CrewAI: calls of tools, decided by a person, from an environment with an older MCP SDK."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_crewai.py::test_a_call_of_crewai_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/22", "programs/23", "programs/24")
async def test_a_call_of_crewai_survives_the_program_and_runs_once(story_with_older_mcp: Story) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    # Its crew begins the task again, so the model is asked for the same call again.
    remove = Call("remove", {"folder": "build"})
    story.model.play(remove, remove, say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("crewai-")
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    decided = await story.crew.ana.get(inquiry["ref"])
    assert (decided["answer"]["by"], len(story.model.conversations)) == ("ana", 3)


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
