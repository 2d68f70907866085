"""A connection to Codex's app server: requests in both directions, over a WebSocket on a socket file.

It knows the form of messages and not their meaning. Its messages are those of JSON-RPC without the version.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from upcall.agents.codex.items import Json, fields_in, parsed, text_in


class LinkLost(Exception):
    """The connection is gone; the server may still be there."""


class CallRefused(Exception):
    """The server answered a request with an error."""


@asynccontextmanager
async def connected(socket: str) -> AsyncIterator["Link"]:
    """A connection to the server that listens there, for as long as the block lasts.

    Raises:
        LinkLost: if no server does.
    """
    try:
        connection = await unix_connect(
            socket, "ws://localhost/", max_size=None, compression=None, ping_interval=None
        )
    except (OSError, InvalidHandshake, EOFError) as problem:
        raise LinkLost from problem
    link = Link(connection)
    listening = asyncio.create_task(link.listen())
    try:
        yield link
    finally:
        listening.cancel()
        await connection.close()


class Link:
    """One connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = count(1)
        self._awaited: dict[int, asyncio.Future[Json]] = {}
        self._heard: asyncio.Queue[Json | None] = asyncio.Queue()
        self._lost = False

    async def call(self, method: str, params: Mapping[str, object]) -> Json:
        """Ask the server for something.

        Raises:
            CallRefused: if it will not.
            LinkLost: if there is no answer because the connection is gone.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._awaited[number] = answer
        await self._send({"id": number, "method": method, "params": params})
        message = await answer
        if "error" in message:
            raise CallRefused(text_in(fields_in(message["error"]).get("message")) or method)
        return fields_in(message.get("result"))

    async def tell(self, method: str) -> None:
        """Tell the server something that needs no answer."""
        await self._send({"method": method})

    async def reply(self, number: Any, result: Mapping[str, object]) -> None:
        """Answer a request of the server's."""
        await self._send({"id": number, "result": result})

    async def refuse(self, number: Any, problem: str) -> None:
        """Answer that a request is none that we know."""
        await self._send({"id": number, "error": {"code": -32601, "message": problem}})

    async def next(self) -> Json:
        """The server's next request or notification.

        Raises:
            LinkLost: once there will be none.
        """
        message = await self._heard.get()
        if message is None:
            raise LinkLost
        return message

    async def listen(self) -> None:
        """Take in what the server says, until the connection is gone."""
        try:
            async for text in self._connection:
                message = parsed(text if isinstance(text, str) else text.decode("utf-8", "replace"))
                if message is not None:
                    self._take(message)
        except ConnectionClosed:
            pass  # what that means is said below, as it is when the server closes politely
        finally:
            self._lost = True
            self._heard.put_nowait(None)
            for answer in self._awaited.values():
                if not answer.done():
                    answer.set_exception(LinkLost())
                    answer.exception()  # its waiter may be gone as well, and an unread exception would be logged

    def _take(self, message: Json) -> None:
        if "method" in message:
            self._heard.put_nowait(message)
            return
        answer = self._awaited.pop(message.get("id", 0), None)
        if answer is not None and not answer.done():
            answer.set_result(message)

    async def _send(self, message: Mapping[str, object]) -> None:
        if self._lost:
            raise LinkLost
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed as problem:
            raise LinkLost from problem
