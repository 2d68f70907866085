"""A daemon that is killed while a vendor takes its message: the next daemon does not leave two that can be pressed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.channels.fake_telegram import TOKEN as TELEGRAM_TOKEN, FakeTelegram
from tests.channels.fake_whatsapp import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, FakeWhatsApp
from tests.cli.conftest import Done, Program

Fake = FakeSlack | FakeTelegram | FakeWhatsApp

SETTINGS = {
    FakeSlack: f"""
[channels.chat]
kind = "slack"
bot_token = "{BOT_TOKEN}"
app_token = "{APP_TOKEN}"
""",
    FakeTelegram: f"""
[channels.chat]
kind = "telegram"
bot_token = "{TELEGRAM_TOKEN}"
""",
    FakeWhatsApp: f"""
[channels.chat]
kind = "whatsapp"
phone_number_id = "{NUMBER}"
access_token = "{TOKEN}"
app_secret = "{APP_SECRET}"
verify_token = "{VERIFY_TOKEN}"
""",
}


class Office:
    """The program beside a vendor that lives in this process; each question goes to one person alone."""

    def __init__(self, vendor: Fake, folder: Path) -> None:
        self.vendor = vendor
        self.program = Program(folder / "home")
        self.program.home.mkdir(mode=0o700)
        settings = SETTINGS[type(vendor)] + f'api_url = "{vendor.url}"\n'
        route = f'[[routes]]\nto = ["chat:{vendor.direct}"]\n'
        (self.program.home / "upcall.toml").write_text(
            f'public_url = "https://upcall.example"\n{settings}\n{route}'
        )

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))

    def answerable(self) -> list[str]:
        return [message.name for message in self.vendor.messages() if message.answerable]

    def sent(self) -> bool:
        announced = self.vendor.announced() if isinstance(self.vendor, FakeTelegram) else ()
        return bool(self.vendor.messages() or announced)

    async def start(self) -> None:
        """Start a daemon. WhatsApp calls it, also with what the one before it has not heard."""
        assert (await self("status")).returncode == 0
        if isinstance(self.vendor, FakeWhatsApp):
            url: str = json.loads((self.program.home / "run.json").read_text())["url"]
            self.vendor.reachable(f"{url}/channels/chat")
            await self.vendor.deliver_again()


@pytest.fixture(params=[FakeSlack, FakeTelegram, FakeWhatsApp])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    async with request.param().served() as vendor:
        office = Office(vendor, tmp_path)
        yield office
        vendor.release_replies()
        await office("down")


@pytest.mark.promise("trust/86")
async def test_after_a_kill_while_sending_one_message_of_the_question_can_be_pressed(office: Office) -> None:
    vendor = office.vendor
    await office.start()
    assert (await office("people", "add", "ana", "--identity", f"chat:{vendor.known}")).returncode == 0
    vendor.hold_replies()
    if isinstance(vendor, FakeWhatsApp):
        vendor.sends_receipts = False
    words = ("Which cache?", "-o", "Redis", "-o", "Memcached")
    ref = await anyio.to_thread.run_sync(lambda: office.program.parked(*words))
    await vendor.until(office.sent)
    office.program.kill()
    vendor.release_replies()
    if isinstance(vendor, FakeWhatsApp):
        vendor.sends_receipts = True

    await office.start()
    shown: list[str] = []
    while not shown:
        (inquiry,) = json.loads((await office("status", "--json")).stdout)["waiting"]
        shown = [each["message_id"] for each in inquiry["delivery"] if each["message_id"]]
    await vendor.until(lambda: office.answerable() == shown)
    await vendor.answer(vendor.known, shown[0], [["Redis"]])
    await vendor.until(lambda: not office.answerable())
    (inquiry,) = json.loads((await office("status", "--json")).stdout)["done"]
    assert (inquiry["ref"], inquiry["answer"]["answers"]) == (ref, [["Redis"]])
