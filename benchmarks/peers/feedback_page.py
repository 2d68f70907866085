"""mcp-feedback-enhanced: its server on standard input and output for each agent, and a person with its page open.

The page is a WebSocket that stays open from one question to the next, as a browser's tab does.
"""

import asyncio
import json
import socket
import sys

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.peers.harness import Heard, Json, Shown, heard, main, time_in
from benchmarks.peers.stdio import StdioServer, started

COMMAND = (sys.executable, "-m", "mcp_feedback_enhanced")
ENVIRONMENT = {"MCP_WEB_HOST": "127.0.0.1", "BROWSER": "true"}
"""Its page on loopback alone, and no browser on the machine that measures: `true` is a program that ends at once."""

PATIENCE = 0.05


def free_ports(many: int) -> list[int]:
    """Ports that were free a moment ago."""
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(many)]
    ports: list[int] = [each.getsockname()[1] for each in listening]
    for each in listening:
        each.close()
    return ports


class Asking:
    def __init__(self, place: Json) -> None:
        self._folder = place["folder"]
        self._first = place["web_port"]
        self._ports: list[int] = []
        self._servers: list[StdioServer] = []

    async def start(self, many: int) -> None:
        ports = free_ports(many - len(self._ports))
        if not self._ports:
            ports[0] = self._first
        self._ports += ports
        self._servers += await started(
            COMMAND, [ENVIRONMENT | {"MCP_WEB_PORT": str(port), "HOME": self._folder} for port in ports]
        )

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        arguments = {"project_directory": self._folder, "summary": f"Which cache? {key}", "timeout": 3600}
        shown(str(self._ports[agent]))
        return heard(time_in(await self._servers[agent].call("interactive_feedback", arguments, {})))

    async def stop(self) -> None:
        await asyncio.gather(*[server.stop() for server in self._servers])


class Answering:
    def __init__(self, place: Json) -> None:
        self._first = place["web_port"]
        self._pages: dict[str, ClientConnection] = {}
        self._answered: set[str] = set()

    async def sees(self, handle: str) -> str:
        page = self._pages.get(handle) or await self._opened(handle)
        while True:
            message = json.loads(await page.recv())
            session = message.get("session_info", {}).get("session_id")
            if message["type"] == "session_updated" and session not in self._answered:
                self._answered.add(session)
                return handle

    async def answer(self, handle: str, text: str) -> None:
        await self._pages[handle].send(json.dumps({"type": "submit_feedback", "feedback": text}))

    async def open_questions(self) -> int:
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                reply = await client.get(f"http://127.0.0.1:{self._first}/api/current-session")
            except httpx.ConnectError:
                return 0
        return int(reply.status_code == 200 and not reply.json()["feedback_completed"])

    async def _opened(self, handle: str) -> ClientConnection:
        while True:
            try:
                page = await connect(f"ws://127.0.0.1:{handle}/ws", proxy=None)
            except (OSError, WebSocketException):
                # The page is served from the first question on.
                await asyncio.sleep(PATIENCE)
            else:
                self._pages[handle] = page
                return page


if __name__ == "__main__":
    main(Asking, Answering)
