"""A uvicorn for tests: it ends as soon as it is told to, where uvicorn itself looks around ten times in a second."""

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from typing_extensions import override

LOOK_EVERY = 0.002


class PromptServer(uvicorn.Server):
    """Ends once `should_exit` is set and its connections and tasks are over. Signals are left alone."""

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    @override
    async def main_loop(self) -> None:
        await self.on_tick(0)
        # What is awaited is set by tests as an attribute.
        while not self.should_exit:  # noqa: ASYNC110 - see above
            await asyncio.sleep(LOOK_EVERY)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        # Uvicorn tells no one when the last of them is over.
        while (self.server_state.connections or self.server_state.tasks) and not self.force_exit:  # noqa: ASYNC110 - see above
            await asyncio.sleep(LOOK_EVERY)
        for server in self.servers:
            await server.wait_closed()
