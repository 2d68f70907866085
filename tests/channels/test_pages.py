"""The steps on the pages about channels, as they are printed, against vendors that live in this process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from tests.channels import fake_discord, fake_telegram, fake_whatsapp, receiver
from tests.channels.fake_discord import FakeDiscord
from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.channels.fake_telegram import FakeTelegram
from tests.channels.fake_whatsapp import FakeWhatsApp
from tests.channels.page_steps import Reader
from tests.channels.receiver import Receiver
from tests.cli.conftest import Program

HERE = "tests/channels/test_pages.py::test_the_steps_of_the_pages_lead_to_questions_that_are_shown"
SECRETS = {
    "DISCORD_TOKEN": fake_discord.TOKEN,
    "WHATSAPP_ACCESS_TOKEN": fake_whatsapp.TOKEN,
    "WHATSAPP_APP_SECRET": fake_whatsapp.APP_SECRET,
    "WHATSAPP_VERIFY_TOKEN": fake_whatsapp.VERIFY_TOKEN,
    "UPCALL_HOOK_SECRET": receiver.SECRET,
}


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    program = Program(tmp_path / "home")
    program.home.mkdir(mode=0o700)
    (program.home / "upcall.env").write_text("".join(f"{name}={value}\n" for name, value in SECRETS.items()))
    (program.home / "upcall.env").chmod(0o600)
    yield program
    await anyio.to_thread.run_sync(lambda: program("down"))


def add_table(program: Program, name: str, url: str) -> None:
    """Say where a vendor is, of which the page wants nothing written."""
    with (program.home / "upcall.toml").open("a") as settings:
        settings.write(f'\n[channels.{name}]\napi_url = "{url}"\n')


@pytest.mark.promise("doorway/24", "doorway/36")
async def test_the_steps_of_the_pages_lead_to_questions_that_are_shown(program: Program) -> None:
    async with AsyncExitStack() as served:
        slack = await served.enter_async_context(FakeSlack().served())
        telegram = await served.enter_async_context(FakeTelegram().served())
        discord = await served.enter_async_context(FakeDiscord().served())
        whatsapp = await served.enter_async_context(FakeWhatsApp().served())
        hook = await served.enter_async_context(Receiver().served())
        add_table(program, "slack", slack.url)
        instead = {
            'kind = "discord"': f'kind = "discord"\napi_url = "{discord.url}"',
            'kind = "whatsapp"': f'kind = "whatsapp"\napi_url = "{whatsapp.url}"',
            "https://example.org/upcall": hook.url,
            "telegram:501234567": f"telegram:{telegram.place}",
            "discord:123456789012345678": f"discord:{discord.place}",
            "whatsapp:15551234567": f"whatsapp:{whatsapp.place}",
        }
        typed = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "slack:": "C0123456789"}
        await Reader(program, HERE, {}, typed).follow("channel-slack.md")
        reader = Reader(program, HERE, instead, {"bot_token": fake_telegram.TOKEN})
        # The library for Telegram takes longest to load, so the daemon starts again before it is there.
        for page in ("whatsapp", "discord", "webhook"):
            await reader.follow(f"channel-{page}.md")
        add_table(program, "telegram", telegram.url)
        await reader.follow("channel-telegram.md")
        assert reader.shown == ["whatsapp", "discord", "hook", "telegram"]
        add_table(program, "work", slack.url)
        again = Reader(program, HERE, {}, typed)
        for page in ("commands.md", "channels.md"):
            await again.follow(page)
        assert again.shown == ["slack", "slack", "slack"]
