"""smolagents: what its agents ask the user, answered by a person."""

import pytest

from tests.agents.script import Call
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_smolagents.py::test_a_question_of_smolagents_reaches_a_person"


@pytest.mark.promise("programs/22", "programs/23")
async def test_a_question_of_smolagents_reaches_a_person(story: Story) -> None:
    story.write(STORY)
    story.model.play(
        Call("user_input", {"question": "Which cache?"}), Call("final_answer", {"answer": "Redis it is"})
    )

    process = await story.start()
    await story.crew.said((await story.asked(process))["ref"], "Redis, as before")
    said = await story.finished(process)

    assert "Redis it is" in said
    assert "Redis, as before" in str(story.model.requests[-1].body)
