"""A channel that is off never takes Upcall down, says why everywhere, and comes on by itself: a real daemon, the real commands."""

import json
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.cli.conftest import Done, Program
from tests.doors.agent import agent
from upcall.home.files import Home

SETTINGS = """
[channels.slack]
bot_token = "$BOT"
app_token = "$APP"
api_url = "{url}"

[channels.journal]
kind = "fax"

[[routes]]
to = ["slack:C1"]
"""
UNSET = "channels.slack.bot_token: the variable BOT is not set"


class Office:
    """The program beside a Slack that lives in this process; the daemon has no tokens."""

    def __init__(self, slack: FakeSlack, folder: Path) -> None:
        self.slack = slack
        self.program = Program(folder / "home")
        self.program.home.mkdir(mode=0o700)
        self.settings = self.program.home / "upcall.toml"
        self.settings.write_text(SETTINGS.format(url=slack.url))

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))

    def agent_asks(self) -> None:
        """Ask through `upcall mcp`; a person answers in the inbox's stead."""
        with agent(Home(self.program.home)) as pipe:
            pipe.initialize()
            pipe.call(1, "ask_human", {"question": "And the queue?", "options": ["Celery", "RQ"]})
            self.program.until_awaited()
            (ref,) = [
                each["ref"]
                for each in self.program.json("status")["waiting"]
                if each["questions"][0]["question"] == "And the queue?"
            ]
            assert self.program("answer", ref, "RQ").returncode == 0
            assert pipe.reply(1)["result"]["structuredContent"]["answers"] == [["RQ"]]

    def give_tokens(self) -> None:
        kept = self.program.home / "secrets.toml"
        kept.write_text(f"[channels.slack]\nbot_token = '{BOT_TOKEN}'\napp_token = '{APP_TOKEN}'\n")


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with FakeSlack().served() as slack:
        office = Office(slack, tmp_path)
        yield office
        await office("down")


@pytest.mark.promise("doorway/1", "doorway/2", "doorway/3")
async def test_without_its_tokens_slack_is_off_alone_and_comes_on_by_itself(office: Office) -> None:
    asked = await office("ask", "Which cache?", "--timeout", "0")
    assert asked.returncode == 12, asked.stderr
    assert (await office("status")).returncode == 0
    await anyio.to_thread.run_sync(office.agent_asks)
    for command in (("channels", "list"), ("doctor",), ("config", "check"), ("status",)):
        said = await office(*command)
        assert UNSET in re.sub(r"\s+", " ", said.stdout + said.stderr), command
    assert UNSET in (office.program.home / "daemon.log").read_text()
    tried = await office("channels", "test", "slack")
    assert (tried.returncode, UNSET in tried.stdout) == (1, True)

    office.give_tokens()
    await office.slack.until(lambda: len(office.slack.messages()) == 1)
    listed = json.loads((await office("channels", "list", "--json")).stdout)["items"]
    assert {each["name"]: len(each["faults"]) for each in listed} == {"slack": 0, "journal": 1}


@pytest.mark.promise("doorway/3")
async def test_new_settings_count_after_a_reload_and_broken_ones_change_nothing(office: Office) -> None:
    office.give_tokens()
    await office("ask", "Which cache?", "--timeout", "0")
    await office.slack.until(lambda: len(office.slack.messages()) == 1)
    connections = office.slack.connections

    office.settings.write_text("ttl = 'soon'\n")
    broken = await office("config", "reload")
    assert broken.returncode == 1
    assert "nothing was changed: ttl: " in broken.stderr
    assert (await office("channels", "test", "slack", "--place", "C1")).returncode == 0

    elsewhere = SETTINGS.format(url=office.slack.url).replace("slack:C1", "slack:C2")
    office.settings.write_text(
        f"port = 1234\nttl = '2h'\n{elsewhere}".replace('kind = "fax"', 'kind = "desktop"')
    )
    changed = json.loads((await office("config", "reload", "--json")).stdout)
    assert changed == {"started": ["journal"], "ended": [], "off": [], "restart": ["port", "ttl"]}
    await office("ask", "And the queue?", "--timeout", "0")
    await office.slack.until(
        lambda: [each.name[:2] for each in office.slack.messages()] == ["C1", "C1", "C2"]
    )
    assert office.slack.connections == connections


@pytest.mark.promise("doorway/3")
async def test_a_hangup_signal_has_the_settings_read_again(office: Office) -> None:
    assert (await office("status")).returncode == 0
    office.settings.write_text(
        f"[channels.slack]\nbot_token = '{BOT_TOKEN}'\napp_token = '{APP_TOKEN}'\napi_url = '{office.slack.url}'\n"
    )
    running = json.loads((office.program.home / "run.json").read_text())
    os.kill(running["pid"], signal.SIGHUP)
    await office.slack.until(office.slack.listening)
    assert (await office("channels", "list")).stdout.startswith("slack")
