"""One question in three chats at once: a real daemon, with Slack, Telegram and WhatsApp at the other end."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.channels.fake_telegram import TOKEN as TELEGRAM_TOKEN, FakeTelegram
from tests.channels.fake_whatsapp import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, FakeWhatsApp
from tests.cli.conftest import Done, Program
from upcall.testing.channel_house import Vendor

SETTINGS = """
public_url = "https://upcall.example"

[channels.slack]
bot_token = "{bot}"
app_token = "{app}"
api_url = "{slack}"

[channels.telegram]
bot_token = "{telegram_token}"
api_url = "{telegram}"

[channels.whatsapp]
phone_number_id = "{number}"
access_token = "{token}"
app_secret = "{secret}"
verify_token = "{verify}"
api_url = "{whatsapp}"

[[routes]]
to = ["slack:C1", "telegram:{group}", "whatsapp:{phone}"]
"""


class Office:
    """The program beside three vendors that live in this process."""

    def __init__(
        self, slack: FakeSlack, telegram: FakeTelegram, whatsapp: FakeWhatsApp, folder: Path
    ) -> None:
        self.slack, self.telegram, self.whatsapp = slack, telegram, whatsapp
        self.program = Program(folder / "home")
        self.program.home.mkdir(mode=0o700)
        settings = SETTINGS.format(
            bot=BOT_TOKEN,
            app=APP_TOKEN,
            slack=slack.url,
            telegram_token=TELEGRAM_TOKEN,
            telegram=telegram.url,
            number=NUMBER,
            token=TOKEN,
            secret=APP_SECRET,
            verify=VERIFY_TOKEN,
            whatsapp=whatsapp.url,
            group=telegram.place,
            phone=whatsapp.place,
        )
        (self.program.home / "upcall.toml").write_text(settings)

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))

    def address(self) -> str:
        """Where the daemon is, for those who call it."""
        url: str = json.loads((self.program.home / "run.json").read_text())["url"]
        return url


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with (
        FakeSlack().served() as slack,
        FakeTelegram().served() as telegram,
        FakeWhatsApp().served() as whatsapp,
    ):
        office = Office(slack, telegram, whatsapp, tmp_path)
        yield office
        await office("down")


async def shown(vendor: Vendor) -> None:
    await vendor.until(lambda: len(vendor.messages()) == 1)


async def closed(vendor: Vendor) -> None:
    await vendor.until(lambda: not vendor.messages()[0].answerable)


async def test_a_question_in_three_chats_is_answered_once_and_all_of_them_say_by_whom(office: Office) -> None:
    slack, telegram, whatsapp = office.slack, office.telegram, office.whatsapp
    vendors: list[Vendor] = [slack, telegram, whatsapp]
    identities = [f"telegram:{telegram.known}", f"whatsapp:{whatsapp.known}", f"slack:{slack.known}"]
    for name, identity in zip(("tom", "wim", "sue"), identities, strict=True):
        assert (await office("people", "add", name, "--identity", identity)).returncode == 0
    whatsapp.reachable(f"{office.address()}/channels/whatsapp")

    asked: list[Done] = []
    ticked: dict[str, object] = {}
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            asked.append(await office("ask", "Which checks?", "-o", "lint", "-o", "tests", "--multi"))

        tasks.start_soon(ask)
        for vendor in vendors:
            await shown(vendor)
        ticked |= telegram.prepared(telegram.known, telegram.messages()[0].name, "lint")
        await whatsapp.write(whatsapp.known, "2")
    assert (asked[0].returncode, asked[0].stdout) == (0, "tests\n")
    for vendor in vendors:
        await closed(vendor)
        assert "✓ Answered: tests — by wim" in vendor.messages()[0].text

    await telegram.deliver(ticked)
    await telegram.until(lambda: bool(telegram.told(telegram.known)))
    assert "tests — by wim" in telegram.told(telegram.known)[0]
    assert telegram.buttons(telegram.messages()[0].name) == []
