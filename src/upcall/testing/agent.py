"""A coding agent without a model: it talks MCP over standard input and output, as a real client would."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Self, cast

__all__ = ["StdioAgent", "text_of"]

Json = dict[str, object]


class StdioAgent:
    """One agent process's side of `upcall mcp`. Calls block, one at a time, until their result is there."""

    def __init__(
        self,
        command: Sequence[str] = (sys.executable, "-m", "upcall", "mcp", "--wait", "block"),
        *,
        environment: Mapping[str, str] | None = None,
        name: str = "scripted-agent",
    ) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._id = 0
        self.server = self.request(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": name, "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The door's process."""
        return self._process.pid

    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        tools = cast("list[Json]", self.request("tools/list", {})["tools"])
        return [str(tool["name"]) for tool in tools]

    def call(self, tool: str, arguments: Json) -> Json:
        """Call a tool and wait for its result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def request(self, method: str, params: Json) -> Json:
        """Send a request and wait for its result.

        Raises:
            ConnectionError: if the door closed, or answered with a protocol error.
        """
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = cast("Json", json.loads(line))
            if message.get("id") == self._id:
                if "error" in message:
                    raise ConnectionError(f"{method}: {message['error']}")
                return cast("Json", message["result"])
        raise ConnectionError(f"the door closed while {method!r} was waiting")

    def close(self) -> None:
        """End the door by closing its input, as a client that is done does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def text_of(result: Json) -> str:
    """The text of a tool's result, as a model reads it."""
    blocks = cast("list[Json]", result["content"])
    return "\n".join(str(block.get("text", "")) for block in blocks)
