"""OpenAI Agents SDK: calls that need approval, decided by a person."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = (
    "tests/frameworks/test_openai_agents.py::test_a_call_of_openai_agents_survives_the_program_and_runs_once"
)


@pytest.mark.promise("programs/7", "programs/17", "programs/23", "programs/24")
async def test_a_call_of_openai_agents_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("openai-agents-call_")
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2


@pytest.mark.promise("programs/25")
async def test_an_edit_is_a_denial_that_tells_the_model_of_openai_agents_what_to_call_instead(
    story: Story,
) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    process = await story.start()
    edited = {"folder": "dist"}
    ref = (await story.asked(process))["ref"]
    await story.crew.said(ref, "Approve", note="it is needed", input=edited)
    said = await story.finished(process)

    instead = 'call it again with {"folder": "dist"} instead (it is needed)'
    assert f"I was told: Denied by ana: {instead}" in said
    assert story.removed == []
