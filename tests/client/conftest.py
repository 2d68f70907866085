"""A daemon's HTTP edge on a real socket, and a program that asks it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.client.program import Crew
from tests.web.house import House, serving
from upcall import Client


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    async with (
        House.open(tmp_path) as house,
        serving(house),
        Client(house.url, house.secrets["builder"]) as asker,
        Client(house.url, house.secrets["ana"]) as ana,
    ):
        yield Crew(house, asker, ana)
