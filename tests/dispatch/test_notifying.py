"""Telling the owner that somebody asks: each question once, and no notifier holds up another."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from upcall.broker.broker import Broker
from upcall.channels.words import sentences
from upcall.dispatch.notifying import Notice, Notifier, Notifying, told_once, webhook
from upcall.domain.errors import StorageError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.domain.inquiry.limits import Limits
from upcall.stores.sqlite.store import SqliteStore


async def a_link(inquiry: Inquiry) -> str:
    return f"http://x/i/{inquiry.id}"


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    store = await SqliteStore.open(tmp_path / "upcall.db")
    broker = Broker(store)
    await broker.start()
    yield broker
    await broker.close()
    await store.close()


async def ask(broker: Broker, question: str, run: int | None = None) -> None:
    origin = Origin(agent="bot\u202e", session="s", door="http", run=run)
    await broker.ask(draft({"question": question}, Limits()), origin)


def notifying(broker: Broker, *notifiers: Notifier, language: str = "en") -> Notifying:
    return Notifying(broker.store, notifiers, title="upcall", words=sentences(language), link=a_link)


async def test_each_question_is_told_once_in_the_words_of_the_settings(broker: Broker) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    await ask(broker, "Before anybody listened?")
    telling = notifying(broker, told.put, language="de")
    await telling.start()
    await ask(broker, "Which\ncache?", run=42)
    await ask(broker, "And now?")
    async with asyncio.timeout(30):
        first, second = await told.get(), await told.get()
    await telling.close()
    assert (first.text, first.question, first.run) == (
        "Aufgabe #42 braucht eine Antwort",
        "Which cache?",
        42,
    )
    assert second.text == "bot braucht eine Antwort"
    assert told.empty()


async def test_one_that_fails_is_logged_and_one_that_hangs_holds_up_nobody(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()

    async def fail(notice: Notice) -> None:
        raise OSError("no route to host")

    async def hang(notice: Notice) -> None:
        await asyncio.Event().wait()

    telling = notifying(broker, fail, hang, told.put)
    await telling.start()
    for question in ("One?", "Two?"):
        await ask(broker, question)
        async with asyncio.timeout(30):
            assert (await told.get()).question == question
    await telling.close()
    assert "no route to host" in caplog.text


async def test_a_question_that_cannot_be_put_into_words_keeps_nobody_from_hearing_of_the_next(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    words = {"needs_input": "{nobody} asks", "needs_input.run": "#{run} asks"}
    telling = Notifying(broker.store, [told.put], title="upcall", words=words, link=a_link)
    await telling.start()
    await ask(broker, "One?")
    await ask(broker, "Two?", run=42)
    async with asyncio.timeout(30):
        assert (await told.get()).text == "#42 asks"
    await telling.close()
    assert "a question could not be told of" in caplog.text


async def test_a_question_that_could_not_be_told_of_while_the_storage_was_away_is_told_of_after_it(
    broker: Broker,
) -> None:
    told: asyncio.Queue[Notice] = asyncio.Queue()
    trouble = [StorageError("the connection to the database was lost")]

    async def link(inquiry: Inquiry) -> str:
        if trouble:
            raise trouble.pop()
        return await a_link(inquiry)

    telling = Notifying(broker.store, [told.put], title="upcall", words=sentences("en"), link=link)
    await telling.start()
    await ask(broker, "One?")
    await ask(broker, "Two?")
    async with asyncio.timeout(30):
        assert [(await told.get()).question for _ in range(2)] == ["One?", "Two?"]
    await telling.close()


async def test_several_daemons_on_one_store_tell_an_address_of_each_question_once(broker: Broker) -> None:
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def post(address: str) -> Notifier:
        async def notify(notice: Notice) -> None:
            await told.put((address, notice.inquiry))

        return told_once(broker.store, address, notify)

    chat, other = "https://chat.example", "https://other.example"
    telling = [post(address) for address in (chat, chat, chat, other)]
    for name in ("01", "02"):
        notice = Notice(inquiry=name, title="", text="", question="", ref="a7", agent="bot", run=None)
        await asyncio.gather(*[tell(notice) for tell in telling])
    got = sorted(told.get_nowait() for _ in range(told.qsize()))
    assert got == [(chat, "01"), (chat, "02"), (other, "01"), (other, "02")]


EVIL = "<!channel> <@U1> @everyone @here [ok](https://evil.example) <https://evil.example|Upcall> www.evil.example a&b"


@pytest.mark.promise("trust/56")
async def test_what_an_agent_wrote_mentions_and_links_nothing_in_any_chat_behind_the_webhook(
    broker: Broker,
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
    telling = notifying(broker, webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/"))
    await telling.start()
    try:
        await ask(broker, EVIL)
        async with asyncio.timeout(20):
            body = await taken.get()
    finally:
        await telling.close()
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
