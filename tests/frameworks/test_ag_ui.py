"""AG-UI: an agent that is served by it, with its interrupts decided by a person."""

from pathlib import Path

import pytest

from tests.agents.script import Call, say_back
from tests.frameworks.story import Story

STORY = (
    "tests/frameworks/test_ag_ui.py::test_a_call_of_an_agent_behind_ag_ui_survives_the_program_and_runs_once"
)


@pytest.mark.promise("programs/7", "programs/21", "programs/23", "programs/24")
async def test_a_call_of_an_agent_behind_ag_ui_survives_the_program_and_runs_once(story: Story) -> None:
    story.write(STORY)
    port = await story.served(Path(__file__).with_name("served_agent.py"))
    story.environment["AGENT_URL"] = f"http://127.0.0.1:{port}/"
    story.model.play(Call("remove", {"folder": "build"}), say_back)

    inquiry = await story.killed_while_asking()
    assert inquiry["request_key"].startswith("ag-ui-")
    assert (inquiry["action"]["tool"], "build" in inquiry["questions"][0]["question"]) == ("remove", True)
    await story.answered_in_the_channel(inquiry, "yes")
    said = await story.goes_on()

    assert "I was told: removed build" in said
    assert story.removed == ["build"]
    assert await story.who_decided(inquiry) == ("ana", "chat")
    assert len(story.model.conversations) == 2
    # The same server goes on with the next one.
    story.model.play(Call("remove", {"folder": "src"}), say_back)
    process = await story.start()
    await story.crew.said((await story.asked(process))["ref"], "Deny", note="it is needed")
    assert "I was told: Denied by ana: it is needed" in await story.finished(process)
    assert story.removed == ["build"]
