"""Matrix, through matrix-nio, on a real homeserver."""

from collections.abc import AsyncIterator

import pytest
from typing_extensions import override

from tests.channels.matrix_house import MatrixHouse
from tests.channels.synapse import Synapse
from upcall.testing.channel_contract import ChannelContract


class TestMatrix(ChannelContract):
    @pytest.fixture
    @override
    async def vendor(self, synapse: Synapse) -> AsyncIterator[MatrixHouse]:
        async with MatrixHouse(synapse).served() as house:
            yield house
