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
    assert inquiry["request_key"].startswith("strands-nightly-default-call_")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2


@pytest.mark.promise("programs/24")
async def test_a_call_of_strands_that_was_edited_meanwhile_runs_once_as_it_was_edited(
    story_with_older_mcp: Story,
) -> None:
    story = story_with_older_mcp
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    assert await story.who_decided(inquiry) == ("ana", "api")


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
