"""WhatsApp over real sockets, against one that enforces Meta's limits and calls us with what people do."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.channels.fake_whatsapp import APP_SECRET, NUMBER, TOKEN, URL, VERIFY_TOKEN, FakeWhatsApp
from tests.channels.inboxes import BareInbox
from tests.channels.looks import seen
from upcall.broker.broker import Reply
from upcall.channels.whatsapp import receipts as receipts_module
from upcall.channels.whatsapp.channel import WhatsApp
from upcall.domain.channel.showing import Inbound, Reference, SentFile
from upcall.domain.inquiry.inquiry import Answered
from upcall.ports.channel import Callback, Refused, Unavailable
from upcall.testing.channel_contract import ChannelContract, DirectChannelContract
from upcall.testing.channel_house import SECONDS, WEB, House, a_house

LONG = "lorem ipsum " * 100


class TestWhatsApp(DirectChannelContract):
    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[FakeWhatsApp]:
        async with FakeWhatsApp().served() as whatsapp:
            yield whatsapp


class Templated(FakeWhatsApp):
    """A number of a business with a template."""

    @override
    def channel(self, template: str = "upcall_question") -> WhatsApp:
        return super().channel(template)


def a_channel(api_url: str, access_token: str = TOKEN, url: str = URL) -> WhatsApp:
    return WhatsApp(
        access_token=access_token,
        phone_number_id=NUMBER,
        app_secret=APP_SECRET,
        verify_token=VERIFY_TOKEN,
        url=url,
        api_url=api_url,
    )


@pytest.fixture
async def whatsapp() -> AsyncIterator[FakeWhatsApp]:
    async with FakeWhatsApp().served() as whatsapp:
        yield whatsapp


@pytest.mark.promise("spec/78")
@pytest.mark.parametrize(
    ("count", "sort"), [(3, "button"), (4, "list"), (10, "list")], ids=["buttons", "list", "longest list"]
)
async def test_options_are_buttons_or_a_list(
    whatsapp: FakeWhatsApp, tmp_path: Path, count: int, sort: str
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=[f"Option {number}" for number in range(1, count + 1)])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        message = whatsapp.messages()[0].name
        assert whatsapp.sent(message)["interactive"]["type"] == sort
        await whatsapp.answer(whatsapp.known, message, [["Option 3"]])
        assert await house.answers(inquiry) == [["Option 3"]]


@pytest.mark.promise("pynchy/40", "pynchy/41")
async def test_numbered_text_is_answered_by_a_bare_number_and_its_last_one_asks_for_words(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        first = await house.ask(options=["Redis", "Memcached"], context=LONG)
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        text = whatsapp.sent(whatsapp.messages()[0].name)["text"]["body"]
        assert "\n1. Redis\n2. Memcached\n3. Other (write it yourself)```\n" in text
        await whatsapp.write(whatsapp.known, "3")
        await whatsapp.until(lambda: bool(whatsapp.told(whatsapp.known)))
        assert whatsapp.told(whatsapp.known)[-1] == "Please write it in your own words."
        await whatsapp.write(whatsapp.known, "Valkey")
        assert await house.answers(first) == [["Valkey"]]

        second = await house.ask(options=["Redis", "Memcached"], context=LONG + "again")
        await whatsapp.until(lambda: len(whatsapp.messages()) == 2)
        await whatsapp.write(whatsapp.known, "2")
        assert await house.answers(second) == [["Memcached"]]


async def test_with_several_open_bare_words_are_asked_which_one_they_mean(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        first = await house.ask(question="One?", kind="text")
        await house.ask(question="Two?", kind="text")
        await whatsapp.until(lambda: len(whatsapp.messages()) == 2)
        await whatsapp.write(whatsapp.known, "blue")
        await whatsapp.until(lambda: bool(whatsapp.told(whatsapp.known)))
        assert f"{first.ref}: One?" in whatsapp.told(whatsapp.known)[-1]
        await whatsapp.write(whatsapp.known, f"{first.ref} blue")
        assert await house.answers(first) == [["blue"]]


async def test_a_press_on_what_is_over_hears_the_answer_that_stands(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        await house.broker.receive(inquiry.id, Reply(text="2", via="web"), WEB)
        await whatsapp.until(lambda: not whatsapp.messages()[0].answerable)
        await whatsapp.answer(whatsapp.known, whatsapp.messages()[0].name, [["Redis"]])
        await whatsapp.until(lambda: bool(whatsapp.told(whatsapp.known)))
        assert "Memcached — by web" in whatsapp.told(whatsapp.known)[-1]


async def test_a_person_who_hides_their_number_is_known_by_their_id(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    whatsapp.phones = False
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        await whatsapp.answer(whatsapp.known, whatsapp.messages()[0].name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]
        await whatsapp.write(whatsapp.stranger, "hello")
        await whatsapp.until(lambda: len(whatsapp.told(whatsapp.stranger)) == 1)


async def test_a_person_who_was_added_by_their_number_may_answer(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        await house.people.add("bo", [("tried", "15550000502")])
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        await whatsapp.answer(whatsapp.stranger, whatsapp.messages()[0].name, [["Redis"]])
        state = (await house.settled(inquiry)).state
        assert isinstance(state, Answered)
        assert state.closing.by == "bo"


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_after_24_hours_it_is_undeliverable_and_says_why(
    whatsapp: FakeWhatsApp, tmp_path: Path, when: Any
) -> None:
    whatsapp.over = when
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        delivery = await ChannelContract().undelivered(house, inquiry)
        assert str(delivery["error"]).startswith("WhatsApp says 131047: more than 24 hours have passed")
        assert (await house.broker.store.get(inquiry.id)).is_open


async def on_record(house: House) -> None:
    """Wait until it is written down that something was shown."""
    after = 0
    async with asyncio.timeout(SECONDS):
        while True:
            for event in await house.broker.store.events(after, wait=SECONDS):
                after = event.seq
                if event.type == "shown":
                    return


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_receipt_that_comes_late_or_elsewhere_still_makes_it_undeliverable(
    whatsapp: FakeWhatsApp, tmp_path: Path, *, restarted: bool
) -> None:
    async with AsyncExitStack() as first:
        house = await first.enter_async_context(a_house(whatsapp, tmp_path))
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        await on_record(house)
        if restarted:
            await first.aclose()
            house = await first.enter_async_context(a_house(whatsapp, tmp_path))
        message = whatsapp.messages()[0].name
        assert [await whatsapp.lose(message), await whatsapp.lose(message)] == [200, 200]
        (delivery,) = await house.dispatch.deliveries(inquiry.id)
        assert str(delivery["error"]).startswith("WhatsApp says 131047: more than 24 hours have passed")
        assert (delivery["message_id"], delivery["shown_at"]) == (None, None)
        said = [event.type for event in await house.broker.store.events(0)]
        assert said.count("undelivered") == 1


async def test_a_receipt_about_a_message_that_is_not_on_record_yet_is_to_come_again(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path):
        assert await whatsapp.lose("wamid.elsewhere") == 503


async def test_after_24_hours_a_template_carries_the_question(tmp_path: Path) -> None:
    async with Templated().served() as whatsapp:
        whatsapp.over = "later"
        async with a_house(whatsapp, tmp_path) as house:
            inquiry = await house.ask(options=["Redis", "Memcached"], context="two\nlines")
            await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
            message = whatsapp.messages()[0]
            assert message.text == (
                f"❓ Provide input · builder · {inquiry.ref} ⏎ two ⏎ lines ⏎ Which cache? ⏎ 1. Redis ⏎ 2. Memcached"
            )
            whatsapp.over = None
            await whatsapp.reply(whatsapp.known, message.name, "2")
            assert await house.answers(inquiry) == [["Memcached"]]

            whatsapp.over = "later"
            refused = await house.ask(kind="approval", question="Run it?", context="make")
            delivery = await ChannelContract().undelivered(house, refused)
            assert delivery["error"] == "an approval cannot be shown in a template"


@pytest.mark.promise("trust/63")
async def test_where_whatsapp_refuses_buttons_or_they_do_not_fit_the_options_are_sent_by_number(
    whatsapp: FakeWhatsApp, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whatsapp.takes_buttons = False
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        message = whatsapp.messages()[0]
        assert "1. Redis\n2. Memcached\n\nReply with a number" in message.text
        assert caplog.text.count(f"{inquiry.ref} is sent to WhatsApp as plain text") == 1
        await whatsapp.reply(whatsapp.known, message.name, "2")
        assert await house.answers(inquiry) == [["Memcached"]]
        whatsapp.takes_buttons = True
        # So many backticks have to be kept apart that no room is left for buttons.
        ticks = await house.ask(question="`" * 600, options=["Redis", "Memcached"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 2)
        await whatsapp.reply(whatsapp.known, whatsapp.messages()[1].name, "1")
        assert await house.answers(ticks) == [["Redis"]]


@pytest.mark.promise("trust/55")
async def test_a_command_with_a_fence_of_its_own_is_shown_to_the_letter(
    whatsapp: FakeWhatsApp, tmp_path: Path
) -> None:
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(kind="approval", question="echo '```' *all*", context="~a~ `````_b_`````")
        await whatsapp.until(lambda: len(whatsapp.messages()) == 1)
        (message,) = whatsapp.messages()
        assert "echo '```' *all*" in message.text
        assert "~a~ `````_b_`````" in message.text
        await whatsapp.answer(whatsapp.known, message.name, [["Approve"]])
        assert await house.answers(inquiry) == [["Approve"]]


async def test_a_rate_limit_is_waited_for_and_nothing_is_lost(
    whatsapp: FakeWhatsApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.channels.whatsapp.api.BUSY_SECONDS", 0.01)
    whatsapp.be_busy(2)
    async with a_house(whatsapp, tmp_path) as house:
        for number in range(3):
            await house.ask(question=f"Question {number}?", options=["a", "b"])
        await whatsapp.until(lambda: len(whatsapp.messages()) == 3)
        shown = [f"Question {number}?" in message.text for number, message in enumerate(whatsapp.messages())]
        assert shown == [True] * 3


async def test_without_a_receipt_that_it_was_taken_has_to_do(
    whatsapp: FakeWhatsApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts_module, "RECEIPT_SECONDS", 0.01)
    channel = whatsapp.channel()
    sent = await channel.show(seen("text", channel.capabilities), whatsapp.place)
    await channel.close()
    assert sent.message == whatsapp.messages()[0].name


def posted(body: bytes, secret: str = APP_SECRET) -> Callback:
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return Callback(method="POST", url=URL, body=body, headers={"x-hub-signature-256": signature})


def written(number: str = NUMBER, **message: Any) -> bytes:
    said = {"id": "wamid.1", "from": "15550000501", "type": "text", "text": {"body": "hi"}, **message}
    value = {"metadata": {"phone_number_id": number}, "messages": [said]}
    return json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()


@pytest.mark.parametrize(
    ("callback", "status"),
    [
        (Callback(method="POST", url=URL, body=written()), 401),
        (posted(written(), secret="another"), 401),
        (Callback(method="POST", url=URL, body=b"{ }", headers=posted(b"{}").headers), 401),
        (posted(b"no json"), 400),
        (posted(b"[]"), 400),
        (posted(b'{"entry": [{"changes": [{"field": "messages", "value": 3}]}]}'), 400),
        (posted(b"{}"), 200),
        (posted(written()), 503),
        (posted(written(number="1")), 200),
        (posted(written(type="sticker", sticker={})), 503),
        (posted(written(type="system", system={})), 200),
    ],
)
async def test_only_meta_is_heard_and_only_what_is_kept_is_confirmed(
    whatsapp: FakeWhatsApp, callback: Callback, status: int
) -> None:
    channel = whatsapp.channel()
    reply = await channel.called(callback, BareInbox(again=True))
    await channel.close()
    assert reply.status == status


async def test_a_message_is_told_by_its_id_and_its_writer_by_theirs(whatsapp: FakeWhatsApp) -> None:
    inbox, channel = BareInbox(), whatsapp.channel()
    await channel.called(posted(written(from_user_id="US.501", context={"id": "wamid.0"})), inbox)
    await channel.called(
        posted(written(type="image", image={"caption": "see"}, timestamp="1700000000")), inbox
    )
    await channel.close()
    assert inbox.received == [
        Inbound(
            id="message:wamid.1",
            user="US.501",
            alias="15550000501",
            place="15550000501",
            message="wamid.0",
            words="hi",
        ),
        Inbound(
            id="message:wamid.1",
            user="15550000501",
            place="15550000501",
            words="see",
            at=1.7e9,
            files=(SentFile(name="image"),),
        ),
    ]


@pytest.mark.parametrize(
    ("token", "mode", "status", "body"),
    [
        (VERIFY_TOKEN, "subscribe", 200, b"4711"),
        ("wrong", "subscribe", 403, b""),
        (VERIFY_TOKEN, "", 403, b""),
    ],
)
async def test_the_address_is_verified_only_with_the_agreed_word(
    whatsapp: FakeWhatsApp, token: str, mode: str, status: int, body: bytes
) -> None:
    query = {"hub.mode": mode, "hub.verify_token": token, "hub.challenge": "4711"}
    channel = whatsapp.channel()
    reply = await channel.called(Callback(method="GET", url=URL, query=query), BareInbox())
    await channel.close()
    assert (reply.status, reply.body) == (status, body)


async def test_a_wrong_token_and_a_missing_address_are_found_by_a_check(whatsapp: FakeWhatsApp) -> None:
    wrong = a_channel(whatsapp.url, access_token="no")
    (finding,) = await wrong.check()
    await wrong.close()
    assert (finding.ok, finding.text[:32]) == (False, "access_token: WhatsApp says 190 ")
    local = a_channel(whatsapp.url, url="http://127.0.0.1:7391/channels/whatsapp")
    assert [finding.ok for finding in await local.check()] == [True, False]
    await local.close()


async def test_an_address_that_is_none_is_refused_and_a_vendor_that_cannot_be_reached_is_unavailable(
    whatsapp: FakeWhatsApp,
) -> None:
    channel = whatsapp.channel()
    with pytest.raises(Refused, match="neither a number"):
        await channel.tell(Reference(place="+1 555", message="wamid.1"), "hello")
    await channel.close()
    nowhere = a_channel("http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        await nowhere.tell(Reference(place="15550000501", message="wamid.1"), "hello")
    await nowhere.close()
