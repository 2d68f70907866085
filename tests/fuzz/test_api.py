"""Every operation of the OpenAPI document, with requests made from it, by each role: a short search; `make fuzz` is the long one."""

from pathlib import Path

import pytest

from tests.fuzz.api import CALLERS, fuzzed
from tests.web.house import House

pytestmark = pytest.mark.thorough


@pytest.mark.promise("proof/7")
async def test_every_reply_is_one_that_the_document_promises(tmp_path: Path) -> None:
    async with House.open(tmp_path) as house:
        counts, faults = await fuzzed(house, examples=1)
    assert set(counts) == {each or "no token" for each in CALLERS}
    assert min(counts.values()) > 100
    assert faults == []
