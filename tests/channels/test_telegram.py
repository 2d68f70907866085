"""Telegram, through aiogram and over real sockets, against a Telegram that enforces its limits."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typing_extensions import override

from tests.channels.fake_telegram import GROUP, HOOK, SECRET, FakeTelegram, telegram_channel
from tests.channels.inboxes import BareInbox
from tests.channels.looks import seen
from upcall.broker.broker import Reply
from upcall.channels.telegram.messages import CAPABILITIES
from upcall.domain.channel.showing import Heard, Inbound, Reference, View
from upcall.domain.errors import StorageError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Inquiry, Origin
from upcall.ports.channel import Callback, Unavailable
from upcall.testing.channel_contract import DirectChannelContract
from upcall.testing.channel_house import SECONDS, WEB, House, a_house


@pytest.mark.promise("spec/79")
class TestTelegram(DirectChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[FakeTelegram]:
        async with FakeTelegram().served() as telegram:
            yield telegram


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram().served() as telegram:
        yield telegram


@pytest.fixture
async def calling() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram(webhook=True).served() as telegram:
        yield telegram


QUESTIONS = [
    {"question": "Which cache?", "options": ["Redis", "Memcached"]},
    {"question": "What name?"},
    {"question": "Which checks?", "options": ["lint", "tests", "docs"], "multiSelect": True, "custom": False},
]


async def a_form(house: House, telegram: FakeTelegram) -> tuple[Inquiry, str]:
    origin = Origin(agent="bot", session="s", door="test")
    inquiry = (await house.broker.ask(draft({"questions": QUESTIONS}), origin)).inquiry
    await telegram.until(lambda: len(telegram.messages()) == 1)
    return inquiry, telegram.messages()[0].name


async def test_what_was_chosen_before_a_restart_is_still_chosen_after_it(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry, message = await a_form(house, telegram)
        await telegram.press(telegram.known, message, "Redis")
        await telegram.until(lambda: "2 / 3" in telegram.buttons(message))
        await telegram.reply(telegram.known, message, "  billing 💶\nand more ")
        await telegram.until(lambda: "☐ lint" in telegram.buttons(message))
    async with a_house(telegram, tmp_path) as house:
        await telegram.press(telegram.known, message, "docs")
        await telegram.until(lambda: "☑ docs" in telegram.buttons(message))
        await telegram.press(telegram.known, message, "Send →")
        assert await house.answers(inquiry) == [["Redis"], ["billing 💶\nand more"], ["docs"]]


@pytest.mark.promise("raised/26", "raised/29")
async def test_a_field_that_can_be_left_out_is_passed_over(telegram: FakeTelegram, tmp_path: Path) -> None:
    properties = {
        "port": {"type": "integer", "maximum": 65535, "default": 8080},
        "name": {"type": "string", "minLength": 2},
        "checks": {"type": "array", "items": {"enum": ["lint", "tests"]}},
    }
    schema = {"properties": properties, "required": ["name"]}
    async with a_house(telegram, tmp_path) as house:
        asked = draft({"question": "How shall it run?", "response_schema": schema})
        inquiry = (await house.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
        await telegram.until(lambda: len(telegram.messages()) == 1)
        message = telegram.messages()[0].name
        assert "port (a whole number at most 65535; 8080 if left out)" in telegram.messages()[0].text
        await telegram.press(telegram.known, message, "Next →")
        await telegram.asked(message, "2 / 3")
        assert "name (at least 2 characters)" in telegram.messages()[0].text
        assert "Next →" not in telegram.buttons(message)
        await telegram.reply(telegram.known, message, "shop")
        await telegram.asked(message, "Send →")
        await telegram.press(telegram.known, message, "Send →")
        assert await house.answers(inquiry) == [["8080"], ["shop"], []]


@pytest.mark.promise("trust/57")
async def test_a_form_full_of_names_goes_on_to_its_end(telegram: FakeTelegram, tmp_path: Path) -> None:
    names = "@ana #now evil.com " * 15
    questions = [{"question": f"{number} {names}"} for number in range(3)]
    async with a_house(telegram, tmp_path) as house:
        asked = draft({"questions": questions, "context": names})
        inquiry = (await house.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
        await telegram.until(lambda: len(telegram.messages()) == 1)
        message = telegram.messages()[0].name
        for number in range(3):
            await telegram.asked(message, f"{number + 1} / 3")
            await telegram.reply(telegram.known, message, f"{number} {names}".strip())
        assert await house.answers(inquiry) == [[f"{number} {names}".strip()] for number in range(3)]


@pytest.mark.promise("trust/63")
async def test_where_telegram_refuses_entities_and_buttons_the_options_are_sent_by_number(
    telegram: FakeTelegram, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    telegram.takes_entities = False
    async with a_house(telegram, tmp_path) as house:
        inquiry, name = await a_form(house, telegram)
        text = telegram.messages()[0].text
        assert "│ 1) Which cache?\n│ 1. Redis\n│ 2. Memcached\n│ 2) What name?" in text
        assert caplog.text.count(f"{inquiry.ref} is sent to Telegram as plain text") == 1
        await telegram.reply(telegram.known, name, "1) 2\n2) billing\n3) 1, 3")
        assert await house.answers(inquiry) == [["Memcached"], ["billing"], ["lint", "docs"]]
        evil = await house.ask(question="@ana https://evil.example /stop", options=["Redis", "Memcached"])
        await telegram.until(lambda: len(telegram.messages()) == 2)
        await telegram.reply(telegram.known, telegram.messages()[1].name, "2")
        assert await house.answers(evil) == [["Memcached"]]


@pytest.mark.promise("trust/63")
async def test_a_form_that_telegram_refuses_to_change_goes_on_in_plain_text(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry, message = await a_form(house, telegram)
        telegram.takes_entities = False
        await telegram.press(telegram.known, message, "Redis")
        await telegram.until(lambda: "│ 2) What name?" in telegram.messages()[0].text)
        await telegram.reply(telegram.known, message, "1) 1\n2) billing\n3) 2")
        assert await house.answers(inquiry) == [["Redis"], ["billing"], ["tests"]]


async def test_what_is_cut_is_linked_at_every_question(telegram: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(telegram, tmp_path) as house:
        asked = draft({"questions": QUESTIONS, "context": "lorem ipsum " * 1000})
        await house.broker.ask(asked, Origin(agent="bot", session="s", door="test"))
        await telegram.until(lambda: len(telegram.messages()) == 1)
        message = telegram.messages()[0].name
        assert "All of it is at http://x/i/" in telegram.messages()[0].text
        await telegram.press(telegram.known, message, "Redis")
        await telegram.until(lambda: "2 / 3" in telegram.buttons(message))
        assert "All of it is at http://x/i/" in telegram.messages()[0].text


async def test_one_can_go_back_and_choose_again(telegram: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry, message = await a_form(house, telegram)
        await telegram.press(telegram.known, message, "Redis")
        await telegram.until(lambda: "2 / 3" in telegram.buttons(message))
        assert "✓ Redis" in telegram.messages()[0].text
        await telegram.press(telegram.known, message, "← Back")
        await telegram.until(lambda: "1 / 3" in telegram.buttons(message))
        await telegram.answer(telegram.known, message, [["Memcached"], ["billing"], ["lint", "docs"]])
        assert await house.answers(inquiry) == [["Memcached"], ["billing"], ["lint", "docs"]]


async def test_a_stranger_cannot_even_begin_to_choose(telegram: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(telegram, tmp_path) as house:
        _, message = await a_form(house, telegram)
        before = telegram.messages()[0]
        await telegram.press(telegram.stranger, message, "Redis")
        await telegram.until(lambda: len(telegram.told(telegram.stranger)) == 1)
        await telegram.reply(telegram.stranger, message, "Redis")
        await telegram.until(lambda: len(telegram.told(telegram.stranger)) == 2)
        assert all("do not know you" in line for line in telegram.told(telegram.stranger))
        assert telegram.messages()[0] == before


async def test_words_where_only_options_are_allowed_are_not_taken(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        _, message = await a_form(house, telegram)
        await telegram.reply(telegram.known, message, "Valkey")
        await telegram.until(lambda: "2 / 3" in telegram.buttons(message))
        await telegram.reply(telegram.known, message, "billing")
        await telegram.until(lambda: "3 / 3" in telegram.buttons(message))
        await telegram.reply(telegram.known, message, "everything")
        await telegram.until(lambda: bool(telegram.told(telegram.known)))
        assert telegram.told(telegram.known)[-1] == "Please choose one of the options."
        assert "3 / 3" in telegram.buttons(message)


async def test_words_that_do_not_fit_into_the_message_are_refused(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        _, message = await a_form(house, telegram)
        await telegram.reply(telegram.known, message, "x" * 4090)
        await telegram.until(lambda: bool(telegram.told(telegram.known)))
        assert telegram.told(telegram.known)[-1].startswith("That is too long")
        assert "1 / 3" in telegram.buttons(message)


async def test_choosing_in_what_is_over_brings_no_button_back(telegram: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry = await house.ask(options=["lint", "tests"], multiSelect=True)
        await telegram.until(lambda: len(telegram.messages()) == 1)
        message = telegram.messages()[0].name
        pressed = telegram.prepared(telegram.known, message, "lint")
        await house.broker.receive(inquiry.id, Reply(text="tests", via="web"), WEB)
        await telegram.until(lambda: not telegram.messages()[0].answerable)
        await telegram.deliver(pressed)
        await telegram.until(lambda: bool(telegram.told(telegram.known)))
        assert "tests — by web" in telegram.told(telegram.known)[-1]
        assert telegram.buttons(message) == []


async def test_a_rate_limit_is_waited_for_and_nothing_is_lost(telegram: FakeTelegram, tmp_path: Path) -> None:
    telegram.be_busy(1)
    async with a_house(telegram, tmp_path) as house:
        for number in range(3):
            await house.ask(question=f"Question {number}?", options=["a", "b"])
        await telegram.until(lambda: len(telegram.messages()) == 3)
        shown = [f"Question {number}?" in message.text for number, message in enumerate(telegram.messages())]
        assert shown == [True] * 3


async def test_the_bot_says_a_chats_address_and_takes_a_code_from_a_link(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        await telegram.write(telegram.stranger, "/start")
        await telegram.until(lambda: len(telegram.told(telegram.stranger)) == 1)
        assert telegram.told(telegram.stranger)[0].endswith("The address of this chat is 502")
        assert "do not know you" in telegram.told(telegram.stranger)[0]
        code = await house.people.add("bo")
        await telegram.write(telegram.stranger, f"/start {code}")
        await telegram.until(lambda: "Welcome, bo" in telegram.told(telegram.stranger)[-1])
        await telegram.write(telegram.stranger, "/id@upcall_bot", chat=GROUP)
        await telegram.until(lambda: len(telegram.told(telegram.stranger)) == 3)
        assert telegram.told(telegram.stranger)[-1] == f"The address of this chat is {GROUP}"


async def test_what_others_say_in_a_group_is_left_alone(telegram: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await telegram.until(lambda: len(telegram.messages()) == 1)
        await telegram.write(telegram.stranger, "lunch?", chat=GROUP)
        await telegram.write(telegram.known, f"{inquiry.ref} memcached")
        assert await house.answers(inquiry) == [["Memcached"]]
        assert list(telegram.told(telegram.stranger)) == []


async def test_with_a_webhook_it_is_called(calling: FakeTelegram, tmp_path: Path) -> None:
    async with a_house(calling, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await calling.until(lambda: len(calling.messages()) == 1)
        await calling.answer(calling.known, calling.messages()[0].name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]
        await calling.repeat()
        assert list(calling.told(calling.known)) == []
        findings = await house.dispatch.check("tried")
        assert [finding.text for finding in findings] == [
            "signed in as @upcall_bot",
            f"Telegram calls {HOOK}",
        ]


WRITTEN = json.dumps(
    {
        "update_id": 1,
        "message": {"message_id": 1, "chat": {"id": 5, "type": "private"}, "from": {"id": 5}, "text": "hi"},
    }
).encode()


class Settling(BareInbox):
    """An inbox in which a question is settled while a person ticks a box."""

    def __init__(self) -> None:
        super().__init__(again=True)
        self._views = [
            seen("several choices", CAPABILITIES),
            seen("several choices", CAPABILITIES, answer="lint"),
        ]

    @override
    async def view(self, inquiry: str) -> View | None:
        return self._views.pop(0)


async def test_a_box_that_is_ticked_while_it_is_settled_leaves_nothing_to_press(
    calling: FakeTelegram,
) -> None:
    channel = calling.channel()
    shown = await channel.show(seen("several choices", CAPABILITIES), calling.place)
    await channel.refresh(shown, seen("several choices", CAPABILITIES))
    calling.calls.clear()
    update = {"update_id": 1, **calling.prepared(calling.known, shown.message, "tests")}
    headers = {"x-telegram-bot-api-secret-token": SECRET}
    body = json.dumps(update).encode()
    await channel.called(Callback(method="POST", url=HOOK, body=body, headers=headers), Settling())
    await channel.close()
    edits = [sent["text"] for method, sent in calling.calls if method == "editMessageText"]
    assert ["✓ Answered: lint — by ana" in text for text in edits] == [False, True]
    assert calling.buttons(shown.message) == []


@pytest.mark.parametrize(
    ("secret", "body", "status"),
    [
        ("", b"{}", 403),
        ("wrong", b"{}", 403),
        (SECRET, b"no json", 400),
        (SECRET, b"[]", 400),
        (SECRET, b'{"update_id": 1, "message": {}}', 400),
        (SECRET, b'{"update_id": 1, "edited_message": {}}', 200),
        (SECRET, WRITTEN, 503),
    ],
)
async def test_only_telegram_is_heard_and_only_what_is_kept_is_confirmed(
    calling: FakeTelegram, secret: str, body: bytes, status: int
) -> None:
    channel = calling.channel()
    headers = {"x-telegram-bot-api-secret-token": secret} if secret else {}
    reply = await channel.called(
        Callback(method="POST", url=HOOK, body=body, headers=headers), BareInbox(again=True)
    )
    await channel.close()
    assert reply.status == status


async def test_no_update_is_taken_through_a_webhook_that_was_not_set_up(telegram: FakeTelegram) -> None:
    channel = telegram.channel()
    assert (
        await channel.called(Callback(method="POST", url=HOOK, body=b"{}"), BareInbox(again=True))
    ).status == 403
    await channel.close()


async def test_a_press_on_what_was_never_shown_holds_up_nothing(
    telegram: FakeTelegram, tmp_path: Path
) -> None:
    async with a_house(telegram, tmp_path) as house:
        inquiry, name = await a_form(house, telegram)
        await telegram.forge(telegram.known, name, f"{inquiry.id}:1:zz..")
        await telegram.until(lambda: "✓ Redis, Memcached" in telegram.messages()[0].text)
        await telegram.forge(telegram.known, name, f"{inquiry.id}:0:..")
        await telegram.until(lambda: "✓" not in telegram.messages()[0].text)
        await telegram.answer(telegram.known, name, [["Redis"], ["billing"], ["lint"]])
        assert await house.answers(inquiry) == [["Redis"], ["billing"], ["lint"]]


class Mistaken(BareInbox):
    """An inbox with a mistake in it, which hears one thing after all."""

    def __init__(self, mistake: Exception) -> None:
        super().__init__()
        self._mistake = mistake
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    @override
    async def receive(self, inbound: Inbound) -> Heard:
        if inbound.words == "first":
            raise self._mistake
        self.heard.put_nowait(inbound.words)
        return Heard(line="", accepted=True)


async def test_a_mistake_of_ours_holds_up_only_what_could_not_be_kept(telegram: FakeTelegram) -> None:
    await telegram.write(telegram.known, "first")
    await telegram.write(telegram.known, "second")
    channel = telegram.channel()
    with pytest.raises(Unavailable):
        await channel.listen(Mistaken(StorageError("the disk is full")))
    inbox = Mistaken(IndexError())
    listening = asyncio.create_task(channel.listen(inbox))
    async with asyncio.timeout(SECONDS):
        assert await inbox.heard.get() == "second"
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await channel.close()


async def test_what_could_not_be_kept_is_not_confirmed(telegram: FakeTelegram) -> None:
    channel = telegram.channel()
    await telegram.write(telegram.known, "hello")
    with pytest.raises(Unavailable):
        await channel.listen(BareInbox(again=True))
    await channel.close()
    assert [sent.get("offset") for method, sent in telegram.calls if method == "getUpdates"] == [None]


async def test_a_wrong_token_is_found_by_a_check(telegram: FakeTelegram) -> None:
    wrong = telegram_channel(bot_token="1:wrong", api_url=telegram.url)
    (finding,) = await wrong.check()
    await wrong.close()
    assert (finding.ok, finding.text) == (False, "bot_token: Telegram says Unauthorized")
    assert finding.hint == "bot_token is the one that @BotFather has given you"


@pytest.mark.parametrize(
    ("token", "secret", "url", "problem"),
    [("no token", "", "", "bot_token looks like"), ("1:a", "s", "http://127.0.0.1", "webhook_secret needs")],
)
def test_settings_that_cannot_work_are_said_at_once(token: str, secret: str, url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        telegram_channel(bot_token=token, webhook_secret=secret, url=url)


async def test_a_vendor_that_cannot_be_reached_is_unavailable_and_not_refused() -> None:
    nowhere = telegram_channel(bot_token="1:a", api_url="http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        await nowhere.tell(Reference(place="1", message="1/1"), "hello")
    await nowhere.close()
