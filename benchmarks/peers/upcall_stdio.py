"""Upcall as coding agents have it: `upcall mcp` for each agent, and a person who follows the events and answers over the API."""

import asyncio
import sys

from benchmarks.peers.harness import Heard, Json, Shown, heard, main, time_in
from benchmarks.peers.stdio import StdioServer, started
from upcall import Client

COMMAND = (sys.executable, "-m", "upcall", "mcp", "--wait", "block")


class Asking:
    def __init__(self, place: Json) -> None:
        self._home = {"UPCALL_HOME": place["home"]}
        self._servers: list[StdioServer] = []

    async def start(self, many: int) -> None:
        self._servers += await started(COMMAND, [self._home] * (many - len(self._servers)))

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        arguments = {"question": f"Which cache? {key}", "header": "Cache"}
        shown(key)
        # A session is named as Claude Code and Codex name theirs, so that one that is started again is recognised.
        said = await self._servers[agent].call("ask_human", arguments, {"upcall/session": key})
        return heard(time_in(said))

    async def stop(self) -> None:
        await asyncio.gather(*[server.stop() for server in self._servers])


class Answering:
    def __init__(self, place: Json) -> None:
        self._client = Client(place["url"], place["person"])
        self._ids: dict[str, str] = {}
        self._told = asyncio.Condition()
        self._following: asyncio.Task[None] | None = None

    async def sees(self, handle: str) -> str:
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        async with self._told:
            await self._told.wait_for(lambda: handle in self._ids)
        return self._ids[handle]

    async def answer(self, handle: str, text: str) -> None:
        await self._client.answer(handle, text)

    async def open_questions(self) -> int:
        return len([each async for each in self._client.find(state="open")])

    async def _follow(self) -> None:
        async for event in self._client.events(after=0):
            if event["type"] == "asked":
                inquiry = await self._client.get(event["inquiry"])
                async with self._told:
                    self._ids[inquiry["questions"][0]["question"].split()[-1]] = inquiry["id"]
                    self._told.notify_all()


if __name__ == "__main__":
    main(Asking, Answering)
