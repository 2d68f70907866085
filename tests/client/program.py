"""What tests of the client share: the program that asks, the person who answers, and waiting for what the daemon has."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

import anyio

from tests.web.house import House, until
from upcall import Client
from upcall.client.outcome import Inquiry

T = TypeVar("T")


class Crew(NamedTuple):
    """A program that asks and a person who answers, both through the client, and the daemon behind them."""

    house: House
    asker: Client
    ana: Client

    async def the_open_one(self) -> Inquiry:
        """The one question that is open, once a call waits for it."""
        await until(lambda: self.house.broker.waiting > 0)
        (inquiry,) = [each async for each in self.ana.find(state="open")]
        return inquiry

    async def asked_about(self) -> dict[str, str]:
        """The refs of open questions about folders, by the folder."""
        return {each["action"]["input"]["folder"]: each["ref"] async for each in self.ana.find(state="open")}

    async def said(self, ref: str, *values: str, note: str = "", **more: Any) -> None:
        """Let the person choose these, with a note."""
        reply = await self.house.post("ana", f"{ref}/answer", answers=[list(values)], note=note, **more)
        assert reply.json()["accepted"], reply.text

    async def fill_in(self, ref: str, content: dict[str, Any]) -> None:
        """Let the person fill a form in."""
        reply = await self.house.post("ana", f"{ref}/answer", content=content)
        assert reply.json()["accepted"], reply.text

    async def outcome_of(self, call: Callable[[], Awaitable[T]], then: Callable[[str], Awaitable[Any]]) -> T:
        """What a call returns whose question meets this fate."""
        ended: list[T] = []

        async def ask() -> None:
            ended.append(await call())

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await then((await self.the_open_one())["ref"])
        return ended[0]


@asynccontextmanager
async def a_server(*replies: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that is no daemon of ours: each connection gets the next reply. Also what it was sent."""
    left = list(replies)
    heard: list[bytes] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            heard.append(await stream.receive())
            await stream.send(left.pop(0))

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{port}", heard
        tasks.cancel_scope.cancel()
