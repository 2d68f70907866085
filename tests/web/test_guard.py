"""The gate: foreign hosts, foreign origins, too large bodies, and the headers that everything leaves with."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from tests.web.house import CHOICE, House, code
from upcall.dispatch.answer_links import AnswerLinks
from upcall.http.guard import Guard
from upcall.web.app import WebSettings, create_app

MIB = 1024 * 1024
EVERYWHERE = ["/healthz", "/v1/inquiries", "/v1/stream", "/v1/openapi.json", "/nowhere"]


@pytest.mark.promise("spec/183")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "localhost:evil",
        "localhost:80:80",
        "localhost@evil.example",
        "169.254.169.254",
        "[::2]",
        "",
        " ",
        "\xff",
    ],
)
@pytest.mark.parametrize("path", EVERYWHERE)
async def test_a_foreign_host_is_421_on_every_route(house: House, path: str, host: str) -> None:
    response = await house.as_("root").get(path, headers={b"Host": host.encode("latin-1")})
    assert code(response) == (421, "foreign_host")


@pytest.mark.promise("spec/129")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65000", "[::1]", "[::1]:8000"]
)
async def test_loopback_names_are_ours_with_any_port(house: House, host: str) -> None:
    assert (await house.as_(None).get("/healthz", headers={"Host": host})).status_code == 200


async def test_a_missing_or_doubled_host_is_foreign(house: House) -> None:
    for hosts in ([], [(b"host", b"localhost"), (b"host", b"evil.example")]):
        assert await _status(house.app, headers=hosts) == 421


@pytest.mark.promise("spec/183")
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1:9999",
        "http://127.0.0.1:8000.evil.example",
        "http://evil.example@127.0.0.1:8000",
        "http://localhost:8000",
        "ftp://127.0.0.1:8000",
        "127.0.0.1:8000",
        "http://127.0.0.1:8000/path",
        "http://[",
        "",
    ],
)
@pytest.mark.parametrize("path", EVERYWHERE)
async def test_a_foreign_origin_is_403_on_every_route_even_with_a_token(
    house: House, path: str, origin: str
) -> None:
    response = await house.as_("root").get(path, headers={"Origin": origin})
    assert code(response) == (403, "foreign_origin")


async def test_a_foreign_page_cannot_post_or_probe(house: House) -> None:
    headers = {"Origin": "https://evil.example"}
    assert code(await house.as_("builder").post("/v1/inquiries", json=CHOICE, headers=headers))[0] == 403
    assert code(await house.as_("builder").options("/v1/inquiries", headers=headers))[0] == 403


async def test_the_same_origin_is_let_through(house: House) -> None:
    response = await house.as_("ana").get("/v1/me", headers={"Origin": "http://127.0.0.1:8000"})
    assert response.status_code == 200


async def test_one_foreign_origin_among_several_is_enough(house: House) -> None:
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"origin", b"http://evil.example")]
    assert await _status(house.app, headers=headers) == 403


@pytest.fixture
async def public(tmp_path: Path) -> AsyncIterator[House]:
    hosts = frozenset({"Upcall.Example", "inner.example:8443"})
    origins = frozenset({"https://app.example/"})
    async with House.open(tmp_path, allowed_hosts=hosts, allowed_origins=origins) as opened:
        yield opened


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("upcall.example", None, 200),
        ("upcall.example:444", None, 200),
        ("inner.example:8443", None, 200),
        ("inner.example", None, 421),
        ("inner.example:1", None, 421),
        ("upcall.example", "https://upcall.example", 200),
        ("upcall.example", "https://app.example", 200),
        ("upcall.example", "https://inner.example:8443", 403),
    ],
)
async def test_configured_hosts_and_origins_are_let_through(
    public: House, host: str, origin: str | None, status: int
) -> None:
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    assert (await public.as_(None).get("/healthz", headers=headers)).status_code == status


async def test_a_body_of_10_mib_is_413(live: House) -> None:
    response = await live.as_("builder").post("/v1/inquiries", content=b"x" * (10 * MIB))
    assert code(response) == (413, "too_large")
    assert (await live.as_("builder").get("/v1/me")).status_code == 200


async def test_a_streamed_body_of_10_mib_is_413_too(live: House) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b"x" * (64 * 1024)

    response = await live.as_("builder").post("/v1/inquiries", content=pieces())
    assert code(response) == (413, "too_large")
    assert (await live.as_("builder").get("/v1/me")).status_code == 200


async def test_a_body_just_within_the_limit_is_read(live: House) -> None:
    body = b'{"question": "?"' + b" " * (6 * MIB - 17) + b"}"
    assert len(body) == 6 * MIB
    assert (await live.as_("builder").post("/v1/inquiries", content=body)).status_code == 201
    assert code(await live.as_("builder").post("/v1/inquiries", content=body + b" "))[0] == 413


@pytest.mark.parametrize("length", [b"x", b"-1", b"1" * 5000])
async def test_a_nonsensical_content_length_is_an_error_and_not_a_crash(house: House, length: bytes) -> None:
    headers = [(b"host", b"localhost"), (b"content-length", length)]
    assert await _status(house.app, headers=headers) in {400, 413}


async def test_a_mounted_application_cannot_hide_that_a_body_was_cut_off(house: House) -> None:
    async def forgiving(request: Request) -> Response:
        try:
            await request.body()
        # That is what it does wrong.
        except Exception:  # noqa: BLE001
            return PlainTextResponse("fine")
        return PlainTextResponse("read")

    async with _mounted(house, forgiving, body_limit=10) as client:
        assert (await client.post("/mounted", content=_chunks(b"short"))).text == "read"
        assert code(await client.post("/mounted", content=_chunks(b"much too long"))) == (413, "too_large")


async def test_errors_of_a_mounted_application_become_json(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async def picky(request: Request) -> Response:
        if request.method == "PUT":
            raise HTTPException(418, "I am a teapot", headers={"X-Tea": "green"})
        raise RuntimeError("a mistake in there")

    async with _mounted(house, picky) as client:
        teapot = await client.put("/mounted")
        assert code(teapot) == (418, "http_error")
        assert teapot.headers["x-tea"] == "green"
        assert code(await client.delete("/mounted")) == (405, "method_not_allowed")
        assert code(await client.post("/mounted")) == (500, "internal")
    assert "a mistake in there" in caplog.text


async def test_everything_leaves_with_security_headers(house: House) -> None:
    for path in EVERYWHERE[:2] + EVERYWHERE[3:]:
        headers = (await house.as_("ana").get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


async def test_a_foreign_websocket_is_closed_and_not_served(house: House) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/v1/pipe", "headers": [(b"host", b"evil.example")]}
    await house.app(scope, _nothing, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_an_error_after_the_first_byte_cuts_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("half-way")

    with caplog.at_level(logging.CRITICAL), pytest.raises(RuntimeError, match="half-way"):
        await _status(Guard(half, body_limit=1000), headers=[(b"host", b"localhost")])


async def test_a_client_that_leaves_while_sending_is_no_error(
    live: House, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = live.url.removeprefix("http://").split(":")
    stream = await anyio.connect_tcp(host, int(port))
    head = (
        f"POST /v1/inquiries HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {live.secrets['builder']}\r\n"
    )
    await stream.send(head.encode() + b"Content-Length: 1000\r\n\r\n{")
    await stream.aclose()
    assert (await live.as_("ana").get("/v1/inquiries")).json()["items"] == []
    assert "rror" not in caplog.text


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _status(app: Any, *, headers: list[tuple[bytes, bytes]]) -> int:
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b"", "headers": headers}
    await app(scope, _nothing, send)
    return statuses[0]


def _mounted(house: House, endpoint: Any, **settings: Any) -> httpx2.AsyncClient:
    app = create_app(
        broker=house.broker,
        access=house.access,
        links=AnswerLinks(house.broker, house.access),
        runs=house.runs,
        settings=WebSettings(version="1", **settings),
        extra_routes=[Route("/mounted", endpoint, methods=["POST", "PUT"])],
    )
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body
