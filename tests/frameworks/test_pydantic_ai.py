"""Pydantic AI: calls that need approval, decided by a person."""

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_pydantic_ai.py::test_a_call_of_pydantic_ai_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/7", "programs/20", "programs/23", "programs/24")
async def test_a_call_of_pydantic_ai_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("pydantic-ai-call_")
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    decided = await story.crew.ana.get(inquiry["ref"])
    assert (decided["answer"]["by"], len(story.model.conversations)) == ("ana", 2)


async def test_a_denial_tells_the_model_of_pydantic_ai_who_denied_it_and_why(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    process = await story.start()
    await story.crew.said((await story.asked(process))["ref"], "Deny", note="it is needed")
    said = await story.finished(process)

    assert "I was told: Denied by ana: it is needed" in said
    assert story.removed == []
