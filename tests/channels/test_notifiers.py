"""Channels that only tell, through their real libraries, to servers that enforce the services' limits."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tests.channels.inboxes import BareInbox
from tests.channels.screen import SECONDS, a_screen
from upcall.channels.apprise.channel import Apprise
from upcall.channels.desktop.channel import Desktop
from upcall.channels.ntfy.channel import Ntfy
from upcall.channels.words import sentences
from upcall.domain.channel import degrading
from upcall.domain.channel.showing import Capabilities, Reference, View
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Closing, Inquiry, Origin
from upcall.domain.inquiry.lifecycle import cancel
from upcall.ports.channel import Refused, SignedOut, Unavailable

pytestmark = pytest.mark.promise("spec/84")

LINK = "https://upcall.example/a/token"


def an_inquiry(**fields: Any) -> Inquiry:
    asked = draft({"question": "Which cache?", "options": ["Redis", "Memcached"], **fields})
    return Inquiry(
        id="i1",
        ref="a7",
        kind=asked.kind,
        questions=asked.questions,
        context=asked.context,
        origin=Origin(agent="claude", session="s", door="test", workspace="shop"),
        asked_at=0.0,
        expires_at=1e9,
    )


def shown(can: Capabilities, **fields: Any) -> View:
    return degrading.view(an_inquiry(**fields), can, sentences("en"), LINK)


@dataclass
class Service:
    """Takes messages over HTTP, or says what it was told to say."""

    url: str = ""
    status: int = 200
    takes_actions: bool = True
    taken: list[Any] = field(default_factory=list)
    _taking: asyncio.Event = field(default_factory=asyncio.Event)

    async def arrived(self, number: int = 0) -> Any:
        """The message of this number, counted from 0, once it is there."""
        async with asyncio.timeout(SECONDS):
            while len(self.taken) <= number:
                self._taking.clear()
                await self._taking.wait()
        return self.taken[number]

    async def take(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.status != 200:
            return web.Response(status=self.status, text="no")
        if "actions" in body and not self.takes_actions:
            return web.json_response({"code": 40018, "error": "invalid request: actions invalid"}, status=400)
        if "topic" in body:
            assert len(body["message"].encode()) <= 4096
            assert len(body.get("actions", [])) <= 3
            assert request.headers.get("Authorization") == "Bearer tk_1"
        self.taken.append(body)
        self._taking.set()
        return web.json_response({"id": f"m{len(self.taken)}"})


@asynccontextmanager
async def served() -> AsyncIterator[Service]:
    service = Service()
    app = web.Application()
    app.router.add_post("/{tail:.*}", service.take)
    app.router.add_get("/v1/health", _healthy)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield service
    finally:
        await runner.cleanup()


async def _healthy(_: web.Request) -> web.Response:
    return web.json_response({"healthy": True})


@pytest.mark.parametrize("long", ["", "x" * 9000, "語" * 5000])
async def test_ntfy_shows_the_question_and_a_button_that_opens_it(long: str) -> None:
    async with served() as service:
        ntfy = Ntfy(server=service.url, token="tk_1")
        reference = await ntfy.show(
            shown(ntfy.capabilities, kind="approval", options=[], context=long), "topic"
        )
        await ntfy.tell(reference, f"Still waiting.\n{LINK}")
        await ntfy.close()
    message, reminder = service.taken
    assert (reference.message, message["topic"], message["click"]) == ("m1", "topic", LINK)
    assert message["title"] == "❓ Approval needed · claude · shop · a7"
    assert message["message"].startswith("│ Which cache?\n│ 1. Approve\n│ 2. Deny")
    assert message["actions"] == [{"action": "view", "label": "Answer", "url": LINK, "clear": True}]
    assert reminder == {"topic": "topic", "message": f"Still waiting.\n{LINK}", "click": LINK}


@pytest.mark.parametrize(
    ("status", "problem", "after"),
    [
        (429, Unavailable, 5.0),
        (503, Unavailable, None),
        (401, SignedOut, None),
        (403, SignedOut, None),
        (413, Refused, None),
    ],
)
async def test_ntfy_is_busy_away_or_refuses(
    status: int, problem: type[Exception], after: float | None
) -> None:
    async with served() as service:
        service.status = status
        ntfy = Ntfy(server=service.url, token="tk_1")
        with pytest.raises(problem) as caught:
            await ntfy.show(shown(ntfy.capabilities), "topic")
        assert getattr(caught.value, "after", None) == after
        assert all(finding.ok for finding in await ntfy.check())
        await ntfy.close()
    with pytest.raises(Unavailable):
        await Ntfy(server=service.url).show(shown(ntfy.capabilities), "topic")
    assert not any(finding.ok for finding in await Ntfy(server=service.url).check())


EVIL = "Ok?\n✓ Answered: yes — by ana\nsee https://evil.example or evil.com, @everyone <!channel> [x](https://e.example)"


@pytest.mark.promise("trust/64")
async def test_what_an_agent_wrote_is_barred_and_links_nothing_where_it_is_only_told() -> None:
    async with served() as service:
        ntfy = Ntfy(server=service.url, token="tk_1")
        await ntfy.show(shown(ntfy.capabilities, question=EVIL, context=EVIL), "topic")
        pager = Apprise(url=service.url.replace("http", "json"))
        await pager.show(shown(pager.capabilities, question=EVIL, context=EVIL), "ana")
        await ntfy.close()
    for sent in service.taken:
        lines = sent["message"].removesuffix(f"\n\n{LINK}").split("\n")
        assert all(line.startswith("│ ") for line in lines if line)
        assert not re.search(r"://|@\w|\w\.\w|\]\(|<!", "\n".join(lines))
        assert "\n│ see https://evil.example or evil.com" in sent["message"].replace("\u200b", "")


async def test_labels_that_begin_alike_and_are_too_long_for_a_button_are_pressed_by_number() -> None:
    begin = "Deploy to the production cluster in Frankfurt with configuration"
    async with served() as service:
        ntfy = Ntfy(server=service.url, token="tk_1")
        await ntfy.show(shown(ntfy.capabilities, options=[f"{begin} A", f"{begin} B"]), "topic")
        await ntfy.show(shown(ntfy.capabilities, options=["Redis", "Memcached"]), "topic")
        await ntfy.close()
    long, short = service.taken
    assert [action["label"] for action in long["actions"]] == ["1", "2", "Answer"]
    assert f"│ 1. {begin} A\n│ 2. {begin} B" in long["message"]
    assert [action["label"] for action in short["actions"]] == ["Redis", "Memcached", "Answer"]


@pytest.mark.promise("trust/63")
async def test_what_ntfy_refuses_with_buttons_is_sent_without_them() -> None:
    async with served() as service:
        service.takes_actions = False
        ntfy = Ntfy(server=service.url, token="tk_1")
        await ntfy.show(shown(ntfy.capabilities), "topic")
        await ntfy.close()
    (message,) = service.taken
    assert ("actions" in message, message["click"]) == (False, LINK)


async def test_apprise_sends_the_question_with_its_link() -> None:
    async with served() as service:
        pager = Apprise(url=service.url.replace("http", "json"))
        assert all(finding.ok for finding in await pager.check())
        reference = await pager.show(shown(pager.capabilities), "ana")
        await pager.tell(reference, "Still waiting.")
        service.status = 500
        with pytest.raises(Unavailable):
            await pager.show(shown(pager.capabilities), "ana")
    question, reminder = service.taken
    assert question["title"] == "❓ Provide input · claude · shop · a7"
    assert question["message"] == f"│ Which cache?\n│ 1. Redis\n│ 2. Memcached\n\n{LINK}"
    assert "Still waiting." in reminder["message"]


@pytest.mark.promise("trust/47")
async def test_an_address_that_apprise_does_not_know_means_that_the_channel_is_down() -> None:
    pager = Apprise(url="carrier-pigeon://coop")
    assert [finding.ok for finding in await pager.check()] == [False]
    with pytest.raises(SignedOut):
        await pager.show(shown(pager.capabilities), "ana")


async def test_a_click_on_the_desktop_opens_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: asyncio.Queue[str] = asyncio.Queue()
    loop, seen = asyncio.get_running_loop(), threading.Event()

    def browse(link: str) -> None:
        # A browser that stays open until the test has seen its address.
        loop.call_soon_threadsafe(opened.put_nowait, link)
        seen.wait(SECONDS)

    monkeypatch.setattr("webbrowser.open", browse)
    async with a_screen() as (address, screen):
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        desk = Desktop()
        assert all(finding.ok for finding in await desk.check())
        reference = await desk.show(shown(desk.capabilities), "ana")
        ((title, body, _),) = screen.shown
        assert title == "❓ Provide input · claude · shop · a7"
        assert body == "│ Which cache?\n│ 1. Redis\n│ 2. Memcached"
        await screen.press(1, "Answer")
        async with asyncio.timeout(SECONDS):
            assert await opened.get() == LINK
        seen.set()
        await desk.tell(reference, "Still waiting.")
        await screen.press(2, "Answer")
        async with asyncio.timeout(SECONDS):
            assert await opened.get() == LINK
        over = cancel(an_inquiry(), Closing(by="claude", via="test", at=1.0))
        assert over is not None
        await desk.refresh(reference, degrading.view(over.inquiry, desk.capabilities, sentences("en"), LINK))
        assert [await screen.next_closed(), await screen.next_closed()] == [1, 2]
        await desk.close()


async def test_a_desktop_that_is_gone_is_listened_to_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_screen() as (address, _):
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        desk = Desktop()
        await desk.check()
        listening = asyncio.create_task(desk.listen(BareInbox()))
    with pytest.raises(Unavailable):
        await listening


async def test_a_desktop_that_does_not_deliver_clicks_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upcall.channels.desktop.channel.WATCH", "no rule at all")
    async with a_screen() as (address, screen):
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        desk = Desktop()
        with pytest.raises(Unavailable, match="MatchRuleInvalid"):
            await desk.show(shown(desk.capabilities), "ana")
        assert screen.shown == []


async def test_without_a_desktop_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
    desk = Desktop()
    assert [finding.ok for finding in await desk.check()] == [False]
    with pytest.raises(Unavailable):
        await desk.show(shown(desk.capabilities), "ana")
    with pytest.raises(Unavailable):
        await desk.tell(Reference(place="ana", message="1"), "Still waiting.")


def test_what_is_written_for_a_notifier_is_json_that_can_be_sent() -> None:
    view = shown(Ntfy.capabilities, context="\u202ehidden", question="<b>bold</b>?")
    assert "\u202e" not in json.dumps(view.context)
    assert view.questions[0].text == "<b>bold</b>?"
    assert (view.hint, view.questions[0].other) == ("", False)
