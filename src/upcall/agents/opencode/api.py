"""The part of opencode's HTTP API that we use, in its own words. It interprets nothing; `conversation.py` does."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2

from upcall.agents.opencode.parts import Json, loaded, mapping

USER = "opencode"
REPLY_SECONDS = 60.0
SILENCE_SECONDS = 60.0
"""After which the stream of events is taken for dead: there is a heartbeat every ten."""


class ServerLost(Exception):
    """The server did not reply: the connection broke, or its process has ended."""


class RequestRefused(Exception):
    """The server said no."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"opencode replied with status {status}: {said[:500]}")
        self.status = status


class Api:
    """One server, which only those can use who know its password."""

    def __init__(self, url: str, password: str) -> None:
        # Neither proxies nor certificates of the environment have a say on the way to our own child.
        self._http = httpx2.AsyncClient(
            base_url=url, auth=(USER, password), timeout=REPLY_SECONDS, trust_env=False
        )

    async def close(self) -> None:
        """Hang up."""
        await self._http.aclose()

    async def get(self, path: str) -> Any:
        """Read something.

        Raises:
            ServerLost: if there is no reply.
            RequestRefused: if there is nothing of that kind.
        """
        return await self._call("GET", path, None)

    async def post(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Send something.

        Raises:
            ServerLost: if there is no reply.
            RequestRefused: if the server does not want it.
        """
        return await self._call("POST", path, body)

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[Json]]:
        """Everything that happens from now on.

        Raises:
            ServerLost: if the stream breaks.
        """
        patience = httpx2.Timeout(REPLY_SECONDS, read=SILENCE_SECONDS)
        try:
            async with self._http.stream("GET", "/event", timeout=patience) as response:
                if not response.is_success:
                    raise RequestRefused(response.status_code, "no events")
                yield _events(response)
        except httpx2.TransportError as problem:
            raise ServerLost(repr(problem)) from problem

    async def _call(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        try:
            response = await self._http.request(method, path, json=body)
        except httpx2.TransportError as problem:
            raise ServerLost(repr(problem)) from problem
        if response.is_error:
            raise RequestRefused(response.status_code, response.text)
        try:
            return json.loads(response.content) if response.content else None
        except ValueError:
            raise RequestRefused(response.status_code, response.text) from None


def objects(value: object) -> Sequence[Json]:
    """The objects in a list; none in place of anything else."""
    return [mapping(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


async def _events(response: httpx2.Response) -> AsyncIterator[Json]:
    """One event for each line of data: opencode writes them so."""
    async for line in response.aiter_lines():
        event = loaded(line.removeprefix("data:")) if line.startswith("data:") else None
        if event is not None:
            yield event
    raise ServerLost("the stream of events ended")
