"""smolagents: what its agents ask the user, answered by a person."""

import pytest

from tests.agents.script import Call
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_smolagents.py::test_a_question_of_smolagents_survives_the_program_and_is_asked_once"
QUESTION = Call("user_input", {"question": "Which cache?"})
DONE = Call("final_answer", {"answer": "Redis it is"})


@pytest.mark.promise("programs/22", "programs/23", "programs/24", "programs/34")
async def test_a_question_of_smolagents_survives_the_program_and_is_asked_once(story: Story) -> None:
    story.write(STORY)
    # The agent begins its task anew, so the model asks the same again.
    story.model.play(QUESTION, QUESTION, DONE)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"] == "smolagents-nightly-17-Which cache?-1"
    await story.answered_in_the_channel(inquiry, "Redis, as before")
    said = await story.goes_on()

    assert "Redis it is" in said
    assert "Redis, as before" in str(story.model.requests[-1].body)
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert [each["id"] async for each in story.crew.ana.find(state="closed")] == [inquiry["id"]]


@pytest.mark.promise("programs/34")
async def test_a_question_of_smolagents_that_comes_twice_in_a_run_is_asked_twice(story: Story) -> None:
    story.write(STORY)
    story.model.play(QUESTION, QUESTION, DONE)

    process = await story.start()
    for answer in ("Redis", "I said so"):
        await story.crew.said((await story.asked(process))["ref"], answer)
    await story.finished(process)

    assert "I said so" in str(story.model.requests[-1].body)


WITHOUT_A_NAME = """
from upcall import smolagents

tool = smolagents.user_input(timeout=0)
for _ in range(2):
    print(tool("Which cache?"))
"""


async def test_without_a_name_of_the_work_each_question_of_smolagents_is_a_new_one(story: Story) -> None:
    (story.work / "program.py").write_text(WITHOUT_A_NAME, "utf-8")

    assert (await story.goes_on()).count("There is no answer: no person has decided yet") == 2
    assert len([each async for each in story.crew.ana.find(state="open")]) == 2
