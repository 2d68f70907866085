"""Google ADK: calls of tools, decided by a person."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_google_adk.py::test_a_call_of_google_adk_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/7", "programs/22", "programs/23", "programs/24")
async def test_a_call_of_google_adk_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("google-adk-nightly-")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert 'I was told: {"result": "removed build"}' in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2


@pytest.mark.promise("programs/24")
async def test_of_two_calls_of_a_turn_of_google_adk_none_runs_before_both_are_decided(
    story: Story,
) -> None:
    story.write(STORY)
    calls = [Call("remove", {"folder": folder}) for folder in ("build", "dist")]
    story.model.play(calls, say_back)

    await story.killed_between_two_calls()
    await story.goes_on()

    assert sorted(story.removed) == ["build", "dist"]
