"""The owner of a home is notified of each question once, and no notifier holds up another."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from upcall.broker.broker import Broker
from upcall.channels.notifications.channel import Notice, Notification, Notifier, webhook
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.notification import PREFIX, Notifications
from upcall.domain.channel.routing import Place, Routing
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.inquiry.limits import Limits
from upcall.ports.channel import Refused, Unavailable
from upcall.ports.following import follow
from upcall.stores.sqlite.store import SqliteStore

SECONDS = 30.0
NO_ROUTES = Routing(routes=(), channels=())


async def a_link(inquiry: Inquiry, address: str) -> str:
    return f"http://x/i/{inquiry.id}?{address}"


def a_place(name: str) -> Place:
    return Place(channel=f"{PREFIX}{name}", address="ana")


def posts(notifiers: Mapping[str, Notifier], language: str = "en") -> dict[Place, ConfiguredChannel]:
    return {
        a_place(name): ConfiguredChannel(
            name=a_place(name).channel,
            channel=Notification(notify, title="upcall", language=language),
            words=sentences(language),
            link=a_link,
        )
        for name, notify in notifiers.items()
    }


class Home:
    """A daemon that notifies its owner."""

    def __init__(
        self, store: SqliteStore, notifiers: Mapping[str, Notifier], *, shared: bool, language: str
    ) -> None:
        places = Notifications(places=tuple(map(a_place, notifiers)))
        self.broker = Broker(store, follow_up=places.consequences)
        self.dispatch = Dispatch(
            self.broker,
            People(store, store.now),
            [],
            CurrentRouting(NO_ROUTES),
            listening_lease=6.0 if shared else None,
            notifications=posts(notifiers, language),
        )

    async def ask(self, question: str, run: int | None = None) -> Inquiry:
        origin = Origin(agent="bot\u202e", session="s", door="http", run=run)
        return (await self.broker.ask(draft({"question": question}, Limits()), origin)).inquiry


@asynccontextmanager
async def a_home(
    store: SqliteStore, notifiers: Mapping[str, Notifier], *, shared: bool = False, language: str = "en"
) -> AsyncIterator[Home]:
    home = Home(store, notifiers, shared=shared, language=language)
    await home.broker.start()
    await home.dispatch.start()
    try:
        async with asyncio.timeout(SECONDS):
            yield home
    finally:
        await home.dispatch.close()
        await home.broker.close()


async def happened(store: SqliteStore, kind: str, count: int) -> None:
    """Read the log until it has that many events of a type."""
    async for events in follow(store, 0, SECONDS):
        count -= sum(event.type == kind for event in events)
        if count <= 0:
            return


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "upcall.db")
    yield opened
    await opened.close()


async def test_each_question_is_told_once_in_the_words_of_the_settings(store: SqliteStore) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    async with a_home(store, {"bell": told.put}, language="de") as home:
        asked = await home.ask("Which\ncache?", run=42)
        first = await told.get()
        await home.ask("And now?")
        second = await told.get()
    assert (first.text, first.question, first.run) == (
        "Aufgabe #42 braucht eine Antwort",
        "Which cache?",
        42,
    )
    assert (first.title, first.ref, first.link) == ("upcall", asked.ref, f"http://x/i/{asked.id}?ana")
    assert (second.text, second.agent) == ("bot braucht eine Antwort", "bot\u202e")
    assert told.empty()


@pytest.mark.thorough
async def test_a_notification_that_hangs_or_is_refused_holds_up_no_other(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()

    async def refuse(notice: Notice) -> None:
        raise Refused("there is no osascript")

    async def hang(notice: Notice) -> None:
        await asyncio.Event().wait()

    async with a_home(store, {"macos": refuse, "webhook": hang, "bell": told.put}) as home:
        for question in ("One?", "Two?"):
            await home.ask(question)
            assert (await told.get()).question == question
        await happened(store, "undelivered", 2)
    assert caplog.text.count("there is no osascript") == 2


async def test_a_notification_that_fails_is_tried_again(store: SqliteStore) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    problems = [Unavailable("no route to host")]

    async def post(notice: Notice) -> None:
        if problems:
            raise problems.pop()
        await told.put(notice)

    async with a_home(store, {"webhook": post}) as home:
        await home.ask("One?")
        assert (await told.get()).question == "One?"


@pytest.mark.promise("house/9")
@pytest.mark.thorough
async def test_what_could_not_be_told_before_a_restart_is_told_after_it(store: SqliteStore) -> None:
    """A bell for a question that has ended meanwhile would disturb for nothing."""
    trying = asyncio.Event()

    async def hang(notice: Notice) -> None:
        trying.set()
        await asyncio.Event().wait()

    async with a_home(store, {"webhook": hang}) as home:
        over = await home.ask("One?")
        await home.ask("Two?")
        await trying.wait()
        await home.broker.fail(over.id, via="test", reason="over")
    told: asyncio.Queue[Notice] = asyncio.Queue()
    async with a_home(store, {"webhook": told.put}) as home:
        assert (await told.get()).question == "Two?"
        await home.ask("Three?")
        assert (await told.get()).question == "Three?"


async def test_daemons_on_one_store_tell_an_address_once_and_ring_each_its_own_bell(
    store: SqliteStore,
) -> None:
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def notifier(name: str) -> Notifier:
        async def notify(notice: Notice) -> None:
            await told.put((name, notice.question))

        return notify

    first = {name: notifier(name) for name in ("webhook@chat", "bell@one")}
    second = {name: notifier(name) for name in ("webhook@chat", "bell@two", "webhook@other")}
    async with a_home(store, first, shared=True) as one, a_home(store, second, shared=True) as two:
        names = ("bell@one", "bell@two", "webhook@chat", "webhook@other")
        for home, question in ((one, "Here?"), (two, "There?"), (one, "Again?")):
            await home.ask(question)
            got = sorted([await told.get() for _ in names])
            assert got == [(name, question) for name in names]
    assert told.empty()


async def test_notifications_are_neither_channels_of_the_home_nor_deliveries_of_a_question(
    store: SqliteStore,
) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    async with a_home(store, {"bell": told.put}) as home:
        asked = await home.ask("One?")
        await told.get()
        await happened(store, "shown", 1)
        assert home.dispatch.names == []
        assert await home.dispatch.deliveries(asked.id) == []


EVIL = "<!channel> <@U1> @everyone @here [ok](https://evil.example) <https://evil.example|Upcall> www.evil.example a&b"


@pytest.mark.promise("trust/56")
async def test_what_an_agent_wrote_mentions_and_links_nothing_in_any_chat_behind_the_webhook(
    store: SqliteStore,
) -> None:
    taken: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        await taken.put(await request.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        async with a_home(store, {"webhook": webhook(address)}) as home:
            await home.ask(EVIL)
            body = await taken.get()
    finally:
        await runner.cleanup()
    # In Slack: what stands between these signs, and names of groups and addresses where they stand alone.
    assert not re.search(r"[<>]", body["text"])
    for text in (html.unescape(body["text"]), body["content"]):
        # In Mattermost and Discord: names; in these and in Teams: markdown, and addresses with or without a scheme.
        assert not re.search(r"@\w|\]\(|<[@!#h]|://|\w\.\w", text)
        # It looks as it was written.
        assert text.replace("\u200b", "").endswith(EVIL)
    assert (body["allowed_mentions"], body["flags"]) == ({"parse": []}, 4)
    assert body["question"] == EVIL


@pytest.mark.parametrize(
    ("status", "problem"), [(404, Refused), (429, Unavailable), (500, Unavailable), (None, Unavailable)]
)
async def test_an_address_that_may_take_it_later_is_told_from_one_that_never_will(
    status: int | None, problem: type[Exception]
) -> None:
    """None is an address at which nothing listens any more."""

    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=status or 200)

    app = web.Application()
    app.router.add_post("/", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    if status is None:
        await runner.cleanup()
    notice = Notice(title="", text="bot needs input", question="One?", ref="a7", agent="bot", run=None)
    try:
        with pytest.raises(problem, match=str(status or "cannot be reached")):
            await webhook(address)(notice)
    finally:
        await runner.cleanup()
