"""An installation behind its HTTP API: in process, and on a real socket where that matters."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.house import House, serving
from tests.web.visitor import Visitor


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """The application, called in process."""
    async with House.open(tmp_path) as opened:
        yield opened


@pytest.fixture
async def live(house: House) -> AsyncIterator[House]:
    """The same behind uvicorn on a loopback socket."""
    async with serving(house):
        yield house


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()
