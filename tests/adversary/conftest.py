"""An installation behind its HTTP API, called in process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.house import House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with House.open(tmp_path) as opened:
        yield opened
