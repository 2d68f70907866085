"""Pydantic AI: calls that need approval, decided by a person."""

import re

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = "tests/frameworks/test_pydantic_ai.py::test_a_call_of_pydantic_ai_survives_the_program_and_runs_once"


@pytest.mark.promise("programs/7", "programs/20", "programs/23", "programs/24")
async def test_a_call_of_pydantic_ai_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert re.fullmatch(r"pydantic-ai-[0-9a-f-]{36}-call_\w+", inquiry["request_key"])
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2


@pytest.mark.promise("programs/20", "programs/24")
async def test_a_call_of_pydantic_ai_that_was_edited_meanwhile_runs_once_as_it_was_edited(
    story: Story,
) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    await story.crew.said(inquiry["ref"], "Approve", input={"folder": "dist"})
    said = await story.goes_on()

    assert "I was told: removed dist" in said
    assert story.removed == ["dist"]
    assert await story.who_decided(inquiry) == ("ana", "api")


async def test_a_denial_tells_the_model_of_pydantic_ai_who_denied_it_and_why(story: Story) -> None:
    story.write(STORY)
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    process = await story.start()
    await story.crew.said((await story.asked(process))["ref"], "Deny", note="it is needed")
    said = await story.finished(process)

    assert "I was told: Denied by ana: it is needed" in said
    assert story.removed == []


NUMBERED = """
import anyio
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from upcall import pydantic_ai


def model(messages, info):
    return ModelResponse([ToolCallPart("remove", {"folder": "build"}, tool_call_id="functions.remove:0")])


agent = Agent(
    FunctionModel(model),
    output_type=[str, DeferredToolRequests],
    capabilities=[HandleDeferredToolCalls(handler=pydantic_ai.handler(timeout=0))],
)


@agent.tool_plain(requires_approval=True)
def remove(folder: str) -> str:
    return f"removed {folder}"


async def main():
    for _ in range(2):
        print([each.tool_name for each in (await agent.run("Remove what was built.")).output.approvals])


anyio.run(main)
"""


@pytest.mark.promise("programs/7")
async def test_a_call_with_the_same_id_in_another_conversation_is_another_question(story: Story) -> None:
    """Some models number the calls of each conversation anew: yesterday's yes is no answer to today's."""
    (story.work / "program.py").write_text(NUMBERED, "utf-8")

    assert await story.goes_on() == "['remove']\n['remove']\n"
    assert len([each async for each in story.crew.ana.find(state="open")]) == 2
