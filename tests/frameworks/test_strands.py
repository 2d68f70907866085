"""Strands Agents: calls of tools, decided by a person, from an environment with an older MCP SDK."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_strands.py::test_a_call_of_strands_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/7", "programs/22", "programs/23", "programs/24")
async def test_a_call_of_strands_survives_the_program_and_runs_once(story_with_older_mcp: Story) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("strands-call_")
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    decided = await story.crew.ana.get(inquiry["ref"])
    assert (decided["answer"]["by"], len(story.model.conversations)) == ("ana", 2)


@pytest.mark.promise("programs/24")
async def test_of_two_calls_of_a_turn_of_strands_none_runs_before_both_are_decided(
    story_with_older_mcp: Story,
) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    calls = [Call("remove", {"folder": folder}) for folder in ("build", "dist")]
    story.model.play(calls, say_back)

    await story.killed_between_two_calls()
    await story.goes_on()

    assert sorted(story.removed) == ["build", "dist"]
