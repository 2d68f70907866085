"""Programs with the real libraries of frameworks, in an environment of their own, and a scripted model behind each."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agents.model_server import Model
from tests.agents.programs import Desk
from tests.client.program import Crew
from tests.conftest import require
from tests.dispatch.scripted_channel import ScriptedChannel
from tests.frameworks.story import OLDER_MCP, PYTHON, Story
from tests.web.house import House, serving
from upcall import Client
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.people import People
from upcall.domain.channel.routing import Place, Route
from upcall.domain.inquiry.inquiry import Inquiry


async def no_link(_inquiry: Inquiry, _address: str) -> str:
    return ""


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    require(PYTHON.exists(), "the environment of the frameworks (`make .venv/frameworks/.installed`)")
    channel = ScriptedChannel()
    post = ConfiguredChannel(name="chat", channel=channel, words=sentences("en"), link=no_link)
    route = Route(places=(Place(channel="chat", address="C1"),))
    async with (
        House.open(tmp_path, posts=[post], routes=(route,), at_work=True) as house,
        serving(house),
        Client(house.url, house.secrets["builder"]) as asker,
        Client(house.url, house.secrets["ana"]) as ana,
    ):
        with Model() as model:
            desk = Desk(tmp_path / "desk", model.url)
            async with Story.of(Crew(house, asker, ana), model, desk) as told:
                told.channel = channel
                await People(house.store, house.clock).add("ana", [("chat", "U1")])
                yield told
            model.check()


@pytest.fixture
def story_with_older_mcp(story: Story) -> Story:
    """A story in the environment of the libraries that hold the MCP SDK below ours."""
    require(OLDER_MCP.exists(), "their environment (`make .venv/frameworks-older-mcp/.installed`)")
    story.python = OLDER_MCP
    return story
