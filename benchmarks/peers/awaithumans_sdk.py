"""awaithumans: agents that call `await_human` of its SDK, and a person who completes tasks at its server's API.

Nothing hands the agent its task's id but the line that the SDK prints for the person at the terminal, so that line is read.
"""

# Installed in the environment of the peers only.
# pyright: reportMissingImports=false

import asyncio
import io
import re
import sys
from contextvars import ContextVar

import httpx
from awaithumans import await_human
from pydantic import BaseModel
from typing_extensions import override

from benchmarks.peers.harness import Heard, Json, Shown, heard, main

_SHOWN: ContextVar[Shown] = ContextVar("shown")
_CREATED = re.compile(r"Task created: (\S+)")
ENDED = {"completed", "timed_out", "cancelled", "verification_exhausted"}


class Question(BaseModel):
    text: str


class Answer(BaseModel):
    text: str


class Terminal(io.TextIOBase):
    """What the SDK prints to; it knows which agent's call prints."""

    @override
    def write(self, text: str) -> int:
        found = _CREATED.search(text)
        if found:
            _SHOWN.get()(found[1])
        return len(text)


class Asking:
    def __init__(self, place: Json) -> None:
        self._place = place
        sys.stderr = Terminal()

    async def start(self, many: int) -> None:
        """Nothing: a call opens its own connections."""

    async def ask(self, agent: int, key: str, shown: Shown) -> Heard:
        _SHOWN.set(shown)
        answer = await await_human(
            task="Which cache?",
            payload_schema=Question,
            payload=Question(text=key),
            response_schema=Answer,
            timeout_seconds=3600,
            idempotency_key=key,
            server_url=self._place["url"],
            api_key=self._place["token"],
        )
        return heard(str(answer.text))

    async def stop(self) -> None:
        """Nothing is kept between calls."""


class Answering:
    def __init__(self, place: Json) -> None:
        limits = httpx.Limits(max_connections=64)
        headers = {"Authorization": f"Bearer {place['token']}"}
        self._client = httpx.AsyncClient(
            base_url=place["url"], headers=headers, limits=limits, timeout=60, trust_env=False
        )
        self._turn = asyncio.Semaphore(64)

    async def sees(self, handle: str) -> str:
        return handle

    async def answer(self, handle: str, text: str) -> None:
        async with self._turn:
            reply = await self._client.post(
                f"/api/tasks/{handle}/complete", json={"response": {"text": text}}
            )
            reply.raise_for_status()

    async def open_questions(self) -> int:
        reply = await self._client.get("/api/tasks", params={"limit": 200})
        reply.raise_for_status()
        return sum(each["status"] not in ENDED for each in reply.json())


if __name__ == "__main__":
    main(Asking, Answering)
