"""From settings to an answered question: a real daemon, the real commands, and Slack at the other end."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.cli.conftest import Done, Program

SETTINGS = """
[channels.slack]
kind = "slack"
bot_token = "$BOT"
app_token = "$APP"
api_url = "{url}"
language = "de"

[[routes]]
to = ["slack:C1"]
"""


class Office:
    """The program beside a Slack that lives in this process."""

    def __init__(self, slack: FakeSlack, folder: Path) -> None:
        self.slack = slack
        self.program = Program(folder / "home")
        self.program.environment |= {"BOT": BOT_TOKEN, "APP": APP_TOKEN}
        self.program.home.mkdir(mode=0o700)
        (self.program.home / "upcall.toml").write_text(SETTINGS.format(url=slack.url))

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with FakeSlack().served() as slack:
        office = Office(slack, tmp_path)
        yield office
        await office("down")


@pytest.mark.promise("pynchy/38", "spec/77", "spec/135", "doorway/12")
async def test_a_person_joins_and_answers_and_the_asking_shell_goes_on(office: Office) -> None:
    slack = office.slack
    added = await office("people", "add", "ana")
    assert (
        "ana sends it, and nothing else, in a direct message to this app:\n  slack: @upcall in the workspace Acme\n"
        in added.stderr
    )
    code = added.stdout.strip()
    await slack.write(slack.known, code.lower())
    await slack.until(lambda: bool(slack.told(slack.known)))
    assert slack.told(slack.known) == ["Willkommen, ana. Ab jetzt kannst du hier antworten."]
    assert f"slack:{slack.known}" in (await office("people", "list")).stdout

    tried = await office("channels", "test", "slack")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "✓ a question is shown in C1" in tried.stdout

    asked: list[Done] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            asked.append(await office("ask", "Deploy where?", "-o", "staging", "-o", "production"))

        tasks.start_soon(ask)
        await slack.until(lambda: len(slack.messages()) == 2)
        await slack.answer(slack.known, slack.messages()[1].name, [["staging"]])
    assert (asked[0].returncode, asked[0].stdout) == (0, "staging\n")
    await slack.until(lambda: "✓ Beantwortet: staging — von ana" in slack.messages()[1].text)

    done = json.loads((await office("status", "--json")).stdout)["done"]
    (inquiry,) = [each for each in done if each["questions"][0]["question"] == "Deploy where?"]
    (delivery,) = inquiry["delivery"]
    assert (delivery["channel"], delivery["place"]) == ("slack", "C1")
    assert delivery["message_id"] == slack.messages()[1].name
    assert inquiry["answer"]["via"] == "slack"


async def test_what_is_wrong_with_a_channel_is_said(office: Office) -> None:
    assert "slack  C1" in (await office("channels", "list")).stdout
    unknown = await office("channels", "test", "telegram")
    assert (unknown.returncode, "there is no channel 'telegram'" in unknown.stderr) == (1, True)
    office.slack.fail("refused")
    refused = await office("channels", "test", "slack", "--place", "C9")
    assert refused.returncode == 1
    assert "✗ C9: Slack says channel_not_found" in refused.stdout
    gone = await office("people", "remove", "zoe")
    assert (gone.returncode, "there is no person 'zoe'" in gone.stderr) == (1, True)


@pytest.mark.promise("trust/51")
async def test_a_test_of_a_channel_that_is_busy_fails_and_says_so(office: Office) -> None:
    office.slack.be_busy(1_000_000)
    busy = await office("channels", "test", "slack", "--within", "6s")
    assert busy.returncode == 1, busy.stdout
    assert "✗ C1: Slack is busy" in busy.stdout
    assert "No route leads to this channel" not in busy.stdout
    assert (await office("channels", "test", "slack", "--within", "6s", "--json")).returncode == 1


@pytest.mark.promise("trust/50")
async def test_a_dead_channel_is_seen_everywhere_and_no_more_once_it_is_mended(office: Office) -> None:
    await office("channels", "list")
    assert "channel slack" in (await office("doctor")).stdout
    office.slack.fail("signed_out")
    await office("ask", "Which cache?", "-o", "Redis", "--timeout", "1s")
    (inquiry,) = json.loads((await office("status", "--json")).stdout)["waiting"]
    await office.slack.until(lambda: any(method == "chat.postMessage" for method, _ in office.slack.calls))
    for words in (("doctor",), ("status",), ("show", inquiry["ref"]), ("channels", "list")):
        said = await office(*words)
        text = " ".join(said.stdout.split())
        assert "token_revoked" in text, words
        assert "since 20" in text, words
        assert "upcall channels add slack" in text, words
        assert said.returncode == (1 if words == ("doctor",) else 0), words
    (channel,) = json.loads((await office("channels", "list", "--json")).stdout)["items"]
    assert channel["faults"][0]["side"] == "sending"
    assert json.loads((await office("status", "--json")).stdout)["channels"][0]["name"] == "slack"
    office.slack.fail(None)
    await office("down")
    await office("channels", "list")
    await office.slack.until(lambda: len(office.slack.messages()) == 1)
    assert "token_revoked" not in (await office("status")).stdout
