"""One question in Slack, in WhatsApp and on the machine at once: the first answer wins, and everybody hears of it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.channels.fake_whatsapp import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, FakeWhatsApp
from tests.cli.conftest import Done, Program

SETTINGS = """
port = {port}
public_url = "https://upcall.example"

[channels.slack]
bot_token = "{bot}"
app_token = "{app}"
api_url = "{slack}"

[channels.whatsapp]
access_token = "{token}"
phone_number_id = "{number}"
app_secret = "{secret}"
verify_token = "{verify}"
api_url = "{whatsapp}"

[[routes]]
to = ["slack:C1", "whatsapp:{phone}"]
"""


class Office:
    """A daemon between two vendors: ana is in Slack, bo in WhatsApp, and the owner at the machine itself."""

    def __init__(self, folder: Path, slack: FakeSlack, whatsapp: FakeWhatsApp) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.slack = slack
        self.whatsapp = whatsapp
        self.program = Program(folder / "home")
        self.program.home.mkdir(mode=0o700)
        settings = SETTINGS.format(
            port=self.url.rpartition(":")[2],
            bot=BOT_TOKEN,
            app=APP_TOKEN,
            slack=slack.url,
            token=TOKEN,
            number=NUMBER,
            secret=APP_SECRET,
            verify=VERIFY_TOKEN,
            whatsapp=whatsapp.url,
            phone=whatsapp.place,
        )
        (self.program.home / "upcall.toml").write_text(settings)
        whatsapp.reachable(f"{self.url}/channels/whatsapp")

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))

    async def asked(self) -> tuple["asyncio.Task[Done]", str, str]:
        """Somebody who asks, and the names of both messages."""
        before = len(self.slack.messages()), len(self.whatsapp.messages())
        asking = asyncio.create_task(self("ask", "Which cache?", "-o", "Redis", "-o", "Memcached", "--json"))
        await self.slack.until(lambda: len(self.slack.messages()) > before[0])
        await self.whatsapp.until(lambda: len(self.whatsapp.messages()) > before[1])
        return asking, self.slack.messages()[-1].name, self.whatsapp.messages()[-1].name


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with FakeSlack().served() as slack, FakeWhatsApp().served() as whatsapp:
        office = Office(tmp_path, slack, whatsapp)
        try:
            await office("people", "add", "ana", "--identity", f"slack:{slack.known}")
            await office("people", "add", "bo", "--identity", f"whatsapp:{whatsapp.known}")
            await slack.until(slack.listening)
            yield office
        finally:
            await office("down")


async def test_the_first_answer_wins_and_every_other_place_says_whose_it_is(office: Office) -> None:
    slack, whatsapp = office.slack, office.whatsapp
    asking, in_slack, in_whatsapp = await office.asked()
    await whatsapp.answer(whatsapp.known, in_whatsapp, [["Memcached"]])
    inquiry = json.loads((await asking).stdout)
    assert (inquiry["answer"]["answers"], inquiry["answer"]["by"]) == ([["Memcached"]], "bo")
    await slack.until(lambda: "✓ Answered: Memcached — by bo" in slack.messages()[-1].text)
    assert not slack.messages()[-1].answerable
    assert "by bo" in (await office("show", inquiry["ref"])).stdout
    # Whoever presses what they still see hears the answer that stands.
    await slack.reply(slack.known, in_slack, "Redis")
    await slack.until(lambda: bool(slack.told(slack.known)))
    assert "Answered: Memcached — by bo" in slack.told(slack.known)[-1]


async def test_an_answer_at_the_machine_closes_both_messages(office: Office) -> None:
    slack, whatsapp = office.slack, office.whatsapp
    asking, _, in_whatsapp = await office.asked()
    waiting = json.loads((await office("status", "--json")).stdout)["waiting"]
    assert (await office("answer", waiting[0]["ref"], "Redis")).returncode == 0
    by = json.loads((await asking).stdout)["answer"]["by"]
    await slack.until(lambda: f"✓ Answered: Redis — by {by}" in slack.messages()[-1].text)
    await whatsapp.until(lambda: not whatsapp.messages()[-1].answerable)
    await whatsapp.reply(whatsapp.known, in_whatsapp, "Memcached")
    await whatsapp.until(lambda: f"Answered: Redis — by {by}" in " ".join(whatsapp.told(whatsapp.known)))
