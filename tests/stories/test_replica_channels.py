"""Several daemons, one database and one Slack connection, which one daemon holds: any daemon may be killed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.cli.conftest import Done, Program, ended
from tests.postgres_server import PostgresServer
from upcall.cli.client import Client
from upcall.home.files import Home

SETTINGS = """
[channels.slack]
kind = "slack"
bot_token = "$BOT"
app_token = "$APP"
api_url = "{url}"

[[routes]]
to = ["slack:C1"]
"""
ASK = ("ask", "Deploy where?", "-o", "staging", "-o", "production")

Json = dict[str, Any]


class Replicas:
    """Homes on one database, and the Slack that they share."""

    def __init__(self, slack: FakeSlack, folder: Path, database: str) -> None:
        self.slack = slack
        self.here, self.there, self.elsewhere = self.all = [
            Program(folder / name) for name in ("here", "there", "elsewhere")
        ]
        for program in self.all:
            program.environment |= {"BOT": BOT_TOKEN, "APP": APP_TOKEN, "UPCALL_DATABASE": database}
            program.home.mkdir(mode=0o700)
            (program.home / "upcall.toml").write_text(SETTINGS.format(url=slack.url))
        self._watcher = Client(home=Home(self.there.home))
        self._after = 0

    async def begin(self) -> None:
        """Start the daemons so that the daemon here holds the connection, and add a person who may answer."""
        assert (
            await run(self.here, "people", "add", "ana", "--identity", f"slack:{self.slack.known}")
        ).returncode == 0
        await self.slack.until(self.slack.listening)
        await run(self.there, "status")
        assert self.slack.opened == 1

    def asking(self, program: Program) -> "asyncio.Task[Done]":
        return asyncio.create_task(run(program, *ASK))

    async def shown(self) -> str:
        """The latest message that a question is in, once it is on record."""
        return str((await anyio.to_thread.run_sync(self._shown))["message_id"])

    def _shown(self) -> Json:
        while True:
            for event in self._watcher.get("/v1/events", patience=30, after=self._after, wait=30)["items"]:
                self._after = event["seq"]
                if event["type"] == "shown":
                    shown: Json = event["data"]
                    return shown

    def hang_up(self) -> None:
        self._watcher.hang_up()

    async def press(self, message: str) -> None:
        await self.slack.answer(self.slack.known, message, [["staging"]])

    async def answered(self, asking: "asyncio.Task[Done]") -> None:
        """The asker has the answer, and the message shows it."""
        done = await asking
        assert (done.returncode, done.stdout) == (0, "staging\n"), done.stderr
        await self.slack.until(lambda: "Answered: staging — by ana" in self.slack.messages()[0].text)
        assert len(self.slack.messages()) == 1
        assert not self.slack.messages()[0].answerable


async def run(program: Program, *words: str) -> Done:
    return await anyio.to_thread.run_sync(lambda: program(*words))


@pytest.fixture
async def replicas(tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Replicas]:
    async with FakeSlack().served() as slack:
        replicas = Replicas(slack, tmp_path, postgres.database(tmp_path))
        await replicas.begin()
        yield replicas
        replicas.hang_up()
        for program in replicas.all:
            await run(program, "down")


async def test_when_the_one_that_listens_is_killed_the_other_hears_the_click(replicas: Replicas) -> None:
    asking = replicas.asking(replicas.there)
    message = await replicas.shown()
    replicas.here.kill()
    await replicas.slack.until(lambda: replicas.slack.opened == 2)
    await replicas.press(message)
    await replicas.answered(asking)


async def test_the_one_that_heard_the_click_is_killed_right_after_it(replicas: Replicas) -> None:
    asking = replicas.asking(replicas.there)
    message = await replicas.shown()
    await replicas.press(message)
    replicas.here.kill()
    await replicas.answered(asking)


async def test_one_that_was_halted_gives_up_the_connection_when_it_goes_on(replicas: Replicas) -> None:
    slack, here = replicas.slack, replicas.here
    asking = replicas.asking(replicas.there)
    message = await replicas.shown()
    halted = here.pid
    os.kill(halted, signal.SIGSTOP)
    try:
        await slack.until(lambda: slack.opened == 2)
        await replicas.press(message)
        await replicas.answered(asking)
    finally:
        os.kill(halted, signal.SIGCONT)
    await slack.until(lambda: slack.connections == 1)
    log = (here.home / "daemon.log").read_text()
    assert "this daemon does not listen to slack any more: its turn is over" in log


async def test_an_agent_waits_at_one_the_person_answers_at_another_and_a_third_listens(
    replicas: Replicas,
) -> None:
    slack, there, elsewhere = replicas.slack, replicas.there, replicas.elsewhere
    await run(elsewhere, "status")
    for number, killed in enumerate((elsewhere, there, replicas.here)):
        ref, asking = await anyio.to_thread.run_sync(lambda: there.asking(*ASK[1:]))
        await replicas.shown()
        killed.kill()
        # Whichever of the two commands misses its daemon starts it again.
        answered = await run(elsewhere, "answer", ref, "staging")
        assert answered.returncode == 0, answered.stderr
        done = await anyio.to_thread.run_sync(lambda: ended(asking))  # noqa: B023 - awaited here
        assert (done.returncode, done.stdout) == (0, "staging\n"), done.stderr
        await slack.until(lambda: "✓ Answered: staging" in slack.messages()[number].text)  # noqa: B023 - awaited here
    assert len(slack.messages()) == 3
