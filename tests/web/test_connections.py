"""What a connection may cost before anything is known of its caller, on a real socket."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import uvicorn

from tests.prompt_server import PromptServer
from tests.web.house import House, until
from upcall.http import connection as http_connection
from upcall.http.connection import LARGEST_HEAD, HttpConnection
from upcall.http.gate import Gate

PATIENCE = 30


class Line:
    """A bare connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def say(self, text: str | bytes) -> None:
        self.writer.write(text.encode("latin-1") if isinstance(text, str) else text)

    async def hear(self) -> bytes:
        """Everything until the other side hangs up."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    async def hear_reply(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return head + await self.reader.readexactly(length)

    def close(self) -> None:
        self.writer.transport.abort()


class Place:
    """A house behind a gate."""

    def __init__(self, house: House, gate: Gate, port: int) -> None:
        self.house, self.gate, self.port = house, gate, port
        self._lines: list[Line] = []

    async def line(self) -> Line:
        line = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        self._lines.append(line)
        return line

    def close(self) -> None:
        for line in self._lines:
            line.close()


@asynccontextmanager
async def opened(
    folder: Path, most: int, connection: type[HttpConnection] = HttpConnection
) -> AsyncIterator[Place]:
    gate = Gate(most)
    async with House.open(folder) as house:
        protocol = cast("type[asyncio.Protocol]", partial(connection, gate))
        server = PromptServer(
            uvicorn.Config(house.app, port=0, http=protocol, log_config=None, lifespan="off")
        )
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        place = Place(house, gate, server.servers[0].sockets[0].getsockname()[1])
        try:
            yield place
        finally:
            place.close()
            await house.broker.close()
            server.should_exit = True
            await serving


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with opened(tmp_path, 1000) as made:
        yield made


@contextmanager
def told(caplog: pytest.LogCaptureFixture, words: str) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "upcall"):
        yield
    assert any(words in record.getMessage() for record in caplog.records)


@pytest.mark.promise("trust/29")
@pytest.mark.parametrize(
    "begin",
    [
        "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        "GET /",
        "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    ],
    ids=["header", "address", "trailer"],
)
async def test_a_head_that_never_ends_is_cut_off(
    place: Place, caplog: pytest.LogCaptureFixture, begin: str
) -> None:
    line = await place.line()
    with told(caplog, "more than"):
        line.say(begin)
        for _ in range(40):
            line.say("x" * 65536)
        await line.hear()
    assert len(place.gate) == 0


@pytest.mark.promise("trust/29")
async def test_many_headers_are_as_large_as_one(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    line = await place.line()
    with told(caplog, "more than"):
        line.say("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "A: b\r\n" * LARGEST_HEAD)
        heard = await line.hear()
    # The system drops the reply where more had been sent than was read.
    assert heard == b"" or b" 431 " in heard


async def test_a_large_body_is_no_large_head(place: Place) -> None:
    line = await place.line()
    token = place.house.secrets["builder"]
    body = '{"question": "' + "x" * (4 * LARGEST_HEAD) + '"}'
    head = f"POST /v1/inquiries HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    for _ in range(2):
        line.say(f"{head}Content-Length: {len(body)}\r\n\r\n{body}")
        assert b" 422 " in await line.hear_reply()


@pytest.mark.promise("trust/29")
@pytest.mark.parametrize(
    ("begin", "status"),
    [
        ("", b" 408 "),
        ("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n", b" 408 "),
        ("POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nx", b""),
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_request_that_does_not_come_whole_in_time_is_given_up(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    begin: str,
    status: bytes,
) -> None:
    monkeypatch.setattr(http_connection, "HEAD_WITHIN", 0.05)
    monkeypatch.setattr(http_connection, "BODY_WITHIN", 0.05)
    with told(caplog, "was closed"):
        line = await place.line()
        line.say(begin)
        assert status in await line.hear()
    assert len(place.gate) == 0


@pytest.mark.promise("trust/29")
@pytest.mark.parametrize(
    "begin",
    [
        "",
        "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Length: 10\r\n\r\nx",
        "POST /v1/inquiries HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\nContent-Length: 9\r\n\r\nx",
    ],
    ids=["nothing", "half a head", "half a form", "a wrong token"],
)
async def test_connections_of_strangers_give_way_and_known_callers_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, begin: str
) -> None:
    async with opened(tmp_path, 10) as place:
        asked = await place.house.asked()
        token = place.house.secrets["builder"]
        waiting = await place.line()
        waiting.say(
            f"GET /v1/inquiries/{asked['id']}/wait?timeout=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        )
        await until(lambda: place.house.broker.waiting == 1)
        with told(caplog, "give way"):
            for _ in range(30):
                stranger = await place.line()
                stranger.say(begin)
            known = await place.line()
            known.say(f"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n")
            assert b"builder" in await known.hear_reply()
        assert len(place.gate) <= 10
        await place.house.answered(asked["id"])
        assert b'"answered"' in await waiting.hear_reply()


@pytest.mark.promise("trust/29")
async def test_where_every_connection_is_in_use_a_new_one_is_refused_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, 2) as place:
        asked = await place.house.asked()
        token = place.house.secrets["builder"]
        for number in range(2):
            line = await place.line()
            line.say(
                f"GET /v1/inquiries/{asked['id']}/wait?timeout=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Authorization: Bearer {token}\r\n\r\n"
            )
            await until(partial(_wait_count, place, number + 1))
        with told(caplog, "are in use"):
            assert b" 503 " in await (await place.line()).hear()


def _wait_count(place: Place, count: int) -> bool:
    return place.house.broker.waiting == count


@pytest.mark.promise("trust/30")
async def test_a_form_of_a_stranger_is_small(place: Place) -> None:
    line = await place.line()
    line.say(
        "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 1000000\r\n\r\ncode="
    )
    line.say("x" * 70_000)
    assert b" 413 " in await line.reader.readuntil(b"\r\n\r\n")


@pytest.mark.promise("trust/36")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_a_credential_in_a_trailer_is_not_taken(place: Place, scheme: str) -> None:
    token = place.house.secrets["builder"]
    head = "POST /v1/inquiries HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = '{"question": "Fine?"}'
    line = await place.line()
    line.say(f"{head}{len(body):x}\r\n{body}\r\n0\r\nAuthorization: {scheme} {token}\r\n\r\n")
    assert b" 401 " in await line.hear_reply()
    # Nor does it count for the next request on the same connection.
    line.say("GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b" 401 " in await line.hear_reply()
