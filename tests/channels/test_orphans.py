"""Where a vendor has neither a name for what is sent once nor a history to look into, a kill can show a question twice."""

from pathlib import Path

import pytest

from tests.channels.fake_telegram import FakeTelegram
from tests.channels.fake_whatsapp import FakeWhatsApp
from tests.channels.orphans import orphaned
from upcall.broker.broker import Reply
from upcall.testing.channel_house import SECONDS, WEB, House, a_house


async def log_says(house: House, kind: str, count: int) -> None:
    """Wait until the log has said so that often."""
    found = 0
    after = 0
    while found < count:
        for event in await house.broker.store.events(after, wait=SECONDS):
            after = event.seq
            found += event.type == kind


@pytest.mark.promise("trust/49")
@pytest.mark.parametrize("fake", [FakeTelegram, FakeWhatsApp])
@pytest.mark.parametrize("late", [False, True])
async def test_a_press_on_a_message_without_a_record_is_answered_and_closes_it(
    fake: type[FakeTelegram | FakeWhatsApp], tmp_path: Path, *, late: bool
) -> None:
    async with fake().served() as vendor, a_house(vendor, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await log_says(house, "shown", 1)
        orphan = await orphaned(house, vendor, inquiry)
        await log_says(house, "shown", 2)
        assert [message.answerable for message in vendor.messages()] == [True, True]
        if late:
            await house.broker.receive(inquiry.id, Reply(text="Memcached", via="web"), WEB)
        await vendor.answer(vendor.known, orphan, [["Redis"]])
        if not late:
            assert await house.answers(inquiry) == [["Redis"]]
        await vendor.until(lambda: not any(message.answerable for message in vendor.messages()))
        if late:
            await vendor.until(lambda: "Memcached — by web" in "".join(vendor.told(vendor.known)))
