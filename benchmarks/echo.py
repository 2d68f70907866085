"""A child process that sends back what it gets: the least that two processes can say to each other."""

import asyncio
import sys
from typing import cast

from typing_extensions import override


class Echo(asyncio.Protocol):
    """One connection."""

    __slots__ = ("_transport",)

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)


async def main() -> None:
    """Serve until our input is closed; the first line of output is the port."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
