"""Slack, through its own SDK and over real sockets, against a Slack that enforces its limits."""

from collections.abc import AsyncIterator

import pytest
from typing_extensions import override

from tests.channels.fake_slack import FakeSlack
from upcall.testing.channel_contract import ChannelContract


class TestSlack(ChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[FakeSlack]:
        async with FakeSlack().served() as slack:
            yield slack
