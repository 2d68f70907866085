"""Where a vendor can neither refuse a repetition nor look a message up, a kill can leave a message without a record."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.fake_telegram import FakeTelegram
from tests.channels.fake_whatsapp import FakeWhatsApp
from tests.channels.orphans import orphan
from upcall.broker.broker import Reply
from upcall.channels.whatsapp import receipts
from upcall.dispatch.deliveries import deliveries_in
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.channel_house import NAME, SECONDS, WEB, House, a_house

AT_ONCE = 0.001
"""Seconds: no receipt is waited for."""


async def left_behind(vendor: FakeTelegram | FakeWhatsApp, folder: Path) -> tuple[Inquiry, str]:
    """A question, and the name of its message, which no record leads to: its daemon was killed."""
    async with a_house(vendor, folder) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await vendor.until(lambda: len(vendor.messages()) == 1)
    message = vendor.messages()[0].name
    store = await SqliteStore.open(folder / "upcall.db")
    await orphan(store, vendor, inquiry, message)
    await store.close()
    return inquiry, message


def answerable(vendor: FakeTelegram | FakeWhatsApp) -> list[bool]:
    return [message.answerable for message in vendor.messages()]


@pytest.mark.promise("trust/49")
@pytest.mark.parametrize("fake", [FakeTelegram, FakeWhatsApp])
@pytest.mark.parametrize("late", [False, True])
async def test_a_press_on_a_message_without_a_record_is_answered_and_closes_it(
    fake: type[FakeTelegram | FakeWhatsApp], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    monkeypatch.setattr(receipts, "RECEIPT_SECONDS", AT_ONCE)
    async with fake().served() as vendor:
        inquiry, first = await left_behind(vendor, tmp_path)
        async with a_house(vendor, tmp_path) as house:
            await vendor.until(lambda: answerable(vendor) == [True, True])
            if late:
                await house.broker.receive(inquiry.id, Reply(text="Memcached", via="web"), WEB)
            await vendor.answer(vendor.known, first, [["Redis"]])
            if not late:
                assert await house.answers(inquiry) == [["Redis"]]
            await vendor.until(lambda: answerable(vendor) == [False, False])
            if late:
                await vendor.until(lambda: "Memcached — by web" in "".join(vendor.told(vendor.known)))


@pytest.fixture
async def whatsapp() -> AsyncIterator[FakeWhatsApp]:
    async with FakeWhatsApp().served() as whatsapp:
        whatsapp.sends_receipts = False
        yield whatsapp


@pytest.mark.promise("trust/86")
async def test_a_message_that_a_receipt_tells_of_in_time_is_taken_and_none_is_sent_again(
    whatsapp: FakeWhatsApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "RECEIPT_SECONDS", AT_ONCE)
    inquiry, first = await left_behind(whatsapp, tmp_path)
    monkeypatch.setattr(receipts, "RECEIPT_SECONDS", SECONDS)
    async with a_house(whatsapp, tmp_path) as house:
        await whatsapp.deliver_again()
        await logged(house, "shown", 2)
        assert [message.name for message in whatsapp.messages()] == [first]
        # Words that name no message find the question again, too.
        await whatsapp.write(whatsapp.known, "2")
        assert await house.answers(inquiry) == [["Memcached"]]
        await whatsapp.until(lambda: answerable(whatsapp) == [False])


@pytest.mark.promise("trust/86")
@pytest.mark.parametrize("pressed", [0, 1])
async def test_a_message_that_a_receipt_tells_of_later_says_that_it_is_replaced_and_either_press_counts_once(
    whatsapp: FakeWhatsApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pressed: int
) -> None:
    monkeypatch.setattr(receipts, "RECEIPT_SECONDS", AT_ONCE)
    inquiry, _ = await left_behind(whatsapp, tmp_path)
    async with a_house(whatsapp, tmp_path) as house:
        await whatsapp.until(lambda: answerable(whatsapp) == [True, True])
        await whatsapp.deliver_again()
        await whatsapp.until(lambda: answerable(whatsapp) == [False, True])
        assert "Replaced: this question was sent again" in whatsapp.messages()[0].text
        names = [message.name for message in whatsapp.messages()]
        await whatsapp.answer(whatsapp.known, names[pressed], [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]
        await whatsapp.until(lambda: answerable(whatsapp) == [False, False])
        await whatsapp.answer(whatsapp.known, names[1 - pressed], [["Memcached"]])
        await whatsapp.until(lambda: "Redis — by ana" in "".join(whatsapp.told(whatsapp.known)))
        assert await house.answers(inquiry) == [["Redis"]]


@pytest.mark.promise("trust/86")
async def test_a_receipt_of_a_message_that_is_on_record_changes_nothing(
    whatsapp: FakeWhatsApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "RECEIPT_SECONDS", AT_ONCE)
    async with a_house(whatsapp, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await logged(house, "shown", 1)
        await whatsapp.deliver_again()
        (kept,) = await deliveries_in(house.broker.store, inquiry.id, NAME)
        assert (kept.message, kept.copies) == (whatsapp.messages()[0].name, ())
        assert answerable(whatsapp) == [True]


async def logged(house: House, kind: str, count: int) -> None:
    """Wait until the log has said so that often."""
    found = after = 0
    while found < count:
        for event in await house.broker.store.events(after, wait=SECONDS):
            after = event.seq
            found += event.type == kind
