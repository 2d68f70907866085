"""JSON replies on a real socket: one write each, and the same to the letter as those that go the ordinary way."""

import asyncio
import json
from pathlib import Path
from typing import ClassVar, cast

import pytest
from typing_extensions import override

from tests.web.test_connections import Line, opened
from upcall.http.connection import HttpConnection

BODY = json.dumps({"question": "Fine?"})
PAGE = "GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n"


class Observed(asyncio.Transport):
    """A transport that notes what is written, and passes everything on."""

    def __init__(self, real: asyncio.Transport) -> None:
        super().__init__()
        self._real = real
        self.writes: list[bytes] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))
        self._real.write(data)

    @override
    def __getattribute__(self, name: str) -> object:
        if name in {"write", "writes", "_real"}:
            return super().__getattribute__(name)
        return getattr(self._real, name)


class ObservedConnection(HttpConnection):
    """A connection of which the writes are known."""

    seen: ClassVar[list[Observed]] = []

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        observed = Observed(transport)
        self.seen.append(observed)
        super().connection_made(cast("asyncio.Transport", observed))


def asking(token: str, *headers: str, version: str = "1.1") -> str:
    """A question, as it is sent."""
    lines = [
        f"POST /v1/inquiries HTTP/{version}",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        *headers,
    ]
    return "\r\n".join(lines) + f"\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"


def parts(reply: bytes) -> tuple[str, dict[str, str], dict[str, object]]:
    """The status line, the headers and the document of a reply, without what differs each time."""
    head, body = reply.decode().split("\r\n\r\n")
    status, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    document = json.loads(body)
    return status, {name: headers[name] for name in headers.keys() - {"date", "connection"}}, document


async def reply_to(line: Line, request: str) -> bytes:
    line.say(request)
    return await line.hear_reply()


@pytest.mark.promise("proof/14")
async def test_a_json_reply_is_one_write_and_a_page_goes_the_ordinary_way(tmp_path: Path) -> None:
    ObservedConnection.seen.clear()
    async with opened(tmp_path, 100, ObservedConnection) as place:
        line = await place.line()
        heard = await reply_to(line, asking(place.house.secrets["builder"]))
        (observed,) = ObservedConnection.seen
        assert observed.writes == [heard]
        page = await reply_to(line, PAGE)
        assert b"".join(observed.writes) == heard + page


async def test_a_whole_reply_says_what_the_ordinary_one_says(tmp_path: Path) -> None:
    ObservedConnection.seen.clear()
    async with opened(tmp_path, 100, ObservedConnection) as place:
        token = place.house.secrets["builder"]
        whole = await reply_to(await place.line(), asking(token))
        # A connection that is to be closed is an unusual one.
        ordinary = await reply_to(await place.line(), asking(token, "Connection: close"))
        one, two = ObservedConnection.seen
        assert (len(one.writes), len(two.writes)) == (1, 2)
    (status, headers, document), (other_status, other_headers, other) = parts(whole), parts(ordinary)
    assert (status, headers.keys()) == (other_status, other_headers.keys())
    assert {"x-content-type-options", "referrer-policy", "cache-control"} < headers.keys()
    assert document.keys() == other.keys()


async def test_requests_sent_at_once_are_answered_in_their_order(tmp_path: Path) -> None:
    async with opened(tmp_path, 100) as place:
        line = await place.line()
        token = place.house.secrets["builder"]
        me = f"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
        line.say(asking(token) + me + asking(token) + me)
        heard = [json.loads((await line.hear_reply()).split(b"\r\n\r\n")[1]) for _ in range(4)]
    assert ["id" in each for each in heard] == [True, False, True, False]
    assert len(place.gate) == 0


async def test_a_body_of_unknown_length_is_replied_to_as_well(tmp_path: Path) -> None:
    async with opened(tmp_path, 100) as place:
        line = await place.line()
        token = place.house.secrets["builder"]
        head = f"POST /v1/inquiries HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        sent = f"{head}Transfer-Encoding: chunked\r\n\r\n{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"
        assert b" 201 " in await reply_to(line, sent)
        assert b" 201 " in await reply_to(line, asking(token))
