"""A client of MCP servers on standard input and output: one process for each agent, as coding agents start them."""

import asyncio
import json
import os
from collections.abc import Sequence

from benchmarks.peers.harness import Json

_PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_LINE = 16 * 1024 * 1024


class StdioServer:
    """A server that one agent has started; one call at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0

    @classmethod
    async def start(cls, command: Sequence[str], **variables: str) -> "StdioServer":
        """Start it; returns once it has answered `initialize`."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env=os.environ | variables,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE,
        )
        server = cls(process)
        await server.request("initialize", _PARAMS)
        server._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return server

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and wait for its result.

        Raises:
            ConnectionError: if the server refuses it, or ends.
        """
        assert self._process.stdout is not None
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while line := await self._process.stdout.readline():
            message: Json = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                if "result" not in message:
                    raise ConnectionError(f"{method} was refused: {message}")
                result: Json = message["result"]
                return result
        raise ConnectionError(f"the server ended during {method}")

    async def call(self, tool: str, arguments: Json, meta: Json) -> str:
        """Call a tool; the text of its result."""
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        result = await self.request("tools/call", params)
        return "".join(part.get("text", "") for part in result["content"])

    async def stop(self) -> None:
        """End it by closing its input; one that does not listen is killed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _write(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")


async def started(command: Sequence[str], environments: Sequence[dict[str, str]]) -> list[StdioServer]:
    """As many servers as environments, a few at a time: more would only wait for a processor."""
    few = asyncio.Semaphore(4)

    async def one(variables: dict[str, str]) -> StdioServer:
        async with few:
            return await StdioServer.start(command, **variables)

    return await asyncio.gather(*[one(variables) for variables in environments])
