"""What can go wrong for a program that asks, each as an exception of its own."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

import upcall
from tests.client.program import Crew, a_server
from upcall.client.errors import BY_CODE
from upcall.http.errors import STATUSES

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.promise("programs/10")
def test_every_code_that_a_daemon_replies_with_has_a_class() -> None:
    page = Path(__file__).parents[2].joinpath("docs/errors.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `([a-z_]+)` \| \d+ \|", page, re.MULTILINE))

    assert set(BY_CODE) == set(STATUSES) == documented
    assert all(kind.__name__ == code.title().replace("_", "") for code, kind in BY_CODE.items())
    assert all(getattr(upcall.errors, kind.__name__) is kind for kind in BY_CODE.values())


@pytest.mark.promise("programs/10")
async def test_what_the_daemon_refuses_is_raised_with_its_sentence_and_the_next_step(crew: Crew) -> None:
    await crew.asker.ask("Which cache?", key="call-17", timeout=0)

    with pytest.raises(upcall.errors.KeyConflict) as conflict:
        await crew.asker.ask("Which queue?", key="call-17", timeout=0)
    with pytest.raises(upcall.errors.InvalidInquiry) as invalid:
        await crew.asker.ask("", timeout=0)
    with pytest.raises(upcall.errors.UnknownInquiry):
        await crew.asker.wait("zz9")
    with pytest.raises(upcall.errors.NotAllowed):
        await crew.asker.answer((await crew.house.asked())["ref"], "Redis")
    with pytest.raises(upcall.errors.InvalidRequest):
        await crew.asker.ask("Which cache?", ttl="soon", timeout=0)
    with pytest.raises(upcall.UpcallError) as span:
        await crew.asker.ask("Which cache?", timeout="soon")

    assert (conflict.value.code, conflict.value.status) == ("key_conflict", 409)
    assert "question" in invalid.value.message
    assert invalid.value.hint
    assert span.value.code == "invalid_request"
    async with upcall.Client(crew.house.url, "wrong") as stranger:
        with pytest.raises(upcall.errors.Unauthenticated):
            await stranger.ask("Which cache?")


@pytest.mark.promise("programs/10")
@pytest.mark.parametrize("wrong", ["soon", "", "-1h"])
async def test_a_span_that_is_none_is_an_error_of_the_documented_code(crew: Crew, wrong: str) -> None:
    with pytest.raises(upcall.errors.InvalidRequest):
        await crew.asker.ask("Which cache?", timeout=wrong)
    with pytest.raises(upcall.errors.InvalidRequest):
        await crew.asker.wait("a7", timeout=wrong)
    assert [each async for each in crew.ana.find()] == [], "nothing was asked"


async def test_an_argument_that_there_is_not_is_named(crew: Crew) -> None:
    more: Any = {"option": ["Redis"]}
    with pytest.raises(TypeError, match=r"no argument 'option'; there are .*options"):
        await crew.asker.ask("Which cache?", **more)
    more = {"options": ["yes"]}
    with pytest.raises(TypeError, match="no argument 'options'"):
        await crew.asker.approve("bash", {"command": "ls"}, **more)


async def test_an_address_without_a_token_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPCALL_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("UPCALL_TOKEN", raising=False)

    with pytest.raises(upcall.errors.Unauthenticated) as refused:
        await upcall.ask("Which cache?")

    assert "upcall tokens create" in (refused.value.hint or "")


@pytest.mark.parametrize("url", ["http://", "ftp://example.org", "http://127.0.0.1:port", ""])
async def test_what_is_no_address_is_said_to_be_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upcall.client.connection.PAUSES", ())
    monkeypatch.setenv("UPCALL_URL", "::")
    async with upcall.Client(url, "token") as client:
        with pytest.raises(upcall.errors.Unreachable, match="is not an address"):
            await client.get("a7")


async def test_an_address_that_no_daemon_answers_at_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upcall.client.connection.PAUSES", (0.0,))
    async with upcall.Client("http://127.0.0.1:9", "token") as client:
        with pytest.raises(upcall.errors.Unreachable, match=r"cannot reach Upcall at http://127\.0\.0\.1:9"):
            await client.ask("Which cache?")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<h1>Shop</h1>", upcall.errors.Refused),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", upcall.errors.Refused),
        (b"HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\n\r\n{}", upcall.errors.Refused),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", upcall.errors.Unreachable),
        (JSON + b"Content-Length: 99\r\n\r\n{", upcall.errors.Unreachable),
        (JSON + b"Content-Length: 99999999999\r\n\r\n{", upcall.errors.Unreachable),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", upcall.errors.Unreachable),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, upcall.errors.Unreachable),
    ],
)
async def test_a_server_that_is_not_upcall_is_an_error_of_ours(
    reply: bytes, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.client.connection.PAUSES", ())
    async with a_server(reply) as (url, _), upcall.Client(url, "token") as client:
        with anyio.fail_after(30), pytest.raises(kind):
            await client.get("a7")


@pytest.mark.parametrize(
    "reply",
    [
        JSON + b'Content-Length: 13\r\n\r\n{"ref": "a7"}',
        JSON + b'Connection: close\r\n\r\n{"ref": "a7"}',
        JSON + b'Transfer-Encoding: chunked\r\n\r\n6;x=y\r\n{"ref"\r\n7\r\n: "a7"}\r\n0\r\n\r\n',
    ],
)
async def test_a_reply_is_read_however_a_proxy_has_framed_it(reply: bytes) -> None:
    async with a_server(reply) as (url, heard), upcall.Client(f"{url}/behind/", "t-1") as client:
        assert await client.get("a 7") == {"ref": "a7"}

    head = heard[0].decode()
    assert head.startswith("GET /behind/v1/inquiries/a%207 HTTP/1.1\r\n")
    assert "\r\nAuthorization: Bearer t-1\r\n" in head


@pytest.mark.promise("programs/13")
async def test_a_proxy_that_has_no_daemon_behind_it_for_a_moment_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("upcall.client.connection.PAUSES", (0.0, 0.0))
    away = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 11\r\n\r\nBad Gateway"
    back = JSON + b'Content-Length: 13\r\n\r\n{"ref": "a7"}'
    async with a_server(away, away, back) as (url, heard), upcall.Client(url, "token") as client:
        assert await client.get("a7") == {"ref": "a7"}

    assert len(heard) == 3
