"""That a program has its answer is told to the daemon while the program goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

import upcall
from tests.client.program import Crew
from upcall.client import connection
from upcall.client.connection import Connection
from upcall.client.outcome import Outcome

CHOICE: dict[str, Any] = {"options": ["Redis", "Memcached"]}


@pytest.fixture
def recorded(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """Set it, and the daemon goes on to write down that an answer has arrived."""
    recorded, collect = asyncio.Event(), crew.house.broker.collect

    async def held_up(*given: Any) -> Any:
        await recorded.wait()
        return await collect(*given)

    monkeypatch.setattr(crew.house.broker, "collect", held_up)
    yield recorded
    # A server that ends waits for the requests that it has.
    recorded.set()


async def answered(crew: Crew, program: upcall.Client) -> Outcome[str]:
    ask = partial(program.ask, "Which cache?", **CHOICE)
    return await crew.outcome_of(ask, lambda ref: crew.ana.answer(ref, "1"))


async def collected_at(crew: Crew, answer: Outcome[str]) -> object:
    return (await crew.ana.get(answer.id))["answer"]["collected_at"]


@pytest.mark.promise("proof/29")
async def test_a_program_goes_on_while_the_daemon_writes_down_that_it_has_its_answer(
    crew: Crew, recorded: asyncio.Event
) -> None:
    first = await answered(crew, crew.asker)
    assert not await collected_at(crew, first)
    recorded.set()
    second = await answered(crew, crew.asker)
    assert await collected_at(crew, first), "the next request over the connection has waited for it"
    assert second.id != first.id


@pytest.mark.promise("proof/29")
async def test_a_program_that_closes_its_client_has_told_the_daemon(
    crew: Crew, recorded: asyncio.Event
) -> None:
    async with upcall.Client(crew.house.url, crew.house.secrets["builder"]) as program:
        answer = await answered(crew, program)
        assert not await collected_at(crew, answer)
        recorded.set()
    assert await collected_at(crew, answer)


@pytest.mark.usefixtures("recorded")
async def test_closing_does_not_wait_for_ever_for_a_daemon_that_hangs(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LAST_REPLY_SECONDS", 0.05)
    async with asyncio.timeout(30), upcall.Client(crew.house.url, crew.house.secrets["builder"]) as program:
        await answered(crew, program)


@asynccontextmanager
async def server(reply: Callable[[bytes], bytes | None]) -> AsyncIterator[str]:
    """Replies to each request as it is told; None hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while written := reply(await reader.readuntil(b"\r\n\r\n")):
                writer.write(written)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield f"http://{host}:{port}"


@pytest.mark.parametrize(
    "end", [b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}", b"nonsense\r\n\r\n", None]
)
async def test_a_connection_that_ends_with_what_it_was_told_is_replaced_for_the_next_request(
    end: bytes | None,
) -> None:
    def reply(head: bytes) -> bytes | None:
        if head.startswith(b"POST /told "):
            return end
        return b'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"is": "ok"}'

    async with server(reply) as url:
        daemon = Connection(url, "token")
        assert await daemon.get("/first")
        await daemon.tell("/told")
        assert await daemon.get("/next")
        await daemon.close()


async def test_nothing_is_told_to_a_daemon_that_was_never_found() -> None:
    daemon = Connection("http://127.0.0.1:9", "token")
    await daemon.tell("/told")
    await daemon.close()
