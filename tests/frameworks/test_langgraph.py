"""LangGraph and langchain: interrupts, answered by a person."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_langgraph.py::test_a_call_of_langchain_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/7", "programs/18", "programs/23", "programs/24")
async def test_a_call_of_langchain_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("langgraph-nightly-")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2
