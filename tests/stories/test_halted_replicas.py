"""A daemon that is halted for longer than any of its leases and woken, or killed in the middle of its work.

`UPCALL_TEST_LEASE=0` leaves the leases as they are, so that it is halted for a minute and more.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.channels import changing
from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.channels.fake_telegram import TOKEN, FakeTelegram
from tests.plain_http import plain_client
from tests.postgres_server import PostgresServer
from tests.stories.replica import SECONDS, Replica, all_over, wait_until_shown
from tests.stories.test_replica_channels import SETTINGS
from upcall.cli.client import inquiry_path

TELEGRAM = f"""
[channels.telegram]
kind = "telegram"
bot_token = "{TOKEN}"
api_url = "{{url}}"

[[routes]]
to = ["telegram:{{place}}"]
"""
# Leases of a minute take more than one.
pytestmark = pytest.mark.timeout(2 * SECONDS)
Json = dict[str, Any]
QUESTION: Json = {"question": "Deploy where?", "options": ["staging", "production"]}


class House:
    """Two daemons, the Slack that they share, and who may answer there."""

    def __init__(
        self, slack: FakeSlack, http: httpx2.AsyncClient, folder: Path, database: str, halts: str
    ) -> None:
        self.slack = slack
        self.http = http
        self.requests: list[asyncio.Task[httpx2.Response]] = []
        self.database = database
        self.here, self.there = (
            Replica(folder / name, database, BOT=BOT_TOKEN, APP=APP_TOKEN, HALT=halts)
            for name, halts in (("here", halts), ("there", ""))
        )
        for replica in (self.here, self.there):
            replica.home.config_file.write_text(SETTINGS.format(url=slack.url))

    async def begin(self) -> None:
        """Start both; the one that is here listens."""
        await anyio.to_thread.run_sync(self.here.start)
        await self.slack.until(self.slack.listening)
        await anyio.to_thread.run_sync(self.there.start)
        person = {"name": "ana", "channel": "slack", "user": self.slack.known}
        await anyio.to_thread.run_sync(lambda: self.here.person.post("/v1/people", person))

    async def halted_at(self, path: str, body: Json) -> list[tuple[str, int]]:
        """Send a request to the daemon here, which halts it while it works on the consequences; returns the jobs that it holds."""
        await anyio.to_thread.run_sync(self.there.halt_between_transactions)
        owner = {"Authorization": f"Bearer {self.here.home.owner_token_file.read_text().strip()}"}
        running = self.here.home.running()
        assert running is not None
        # It may not come to reply.
        self.requests.append(
            asyncio.create_task(self.http.post(f"{running.url}{path}", json=body, headers=owner))
        )
        held = await anyio.to_thread.run_sync(self.here.halted)
        self.there.go_on()
        return held

    async def answered(self) -> None:
        await self.slack.until(lambda: "Answered: staging — by ana" in self.slack.messages()[0].text)


@pytest.fixture
async def house(
    tmp_path: Path,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> AsyncIterator[House]:
    monkeypatch.setattr(changing, "WAIT_SECONDS", SECONDS)
    monkeypatch.delenv("UPCALL_URL", raising=False)
    async with FakeSlack().served() as slack, plain_client(timeout=SECONDS) as http:
        house = House(slack, http, tmp_path, postgres.database(tmp_path), request.param)
        try:
            await house.begin()
            yield house
        finally:
            for each in house.requests:
                each.cancel()
            await asyncio.gather(*house.requests, return_exceptions=True)
            for replica in (house.here, house.there):
                await anyio.to_thread.run_sync(replica.end)


@pytest.mark.parametrize("house", ["show:slack"], indirect=True)
async def test_a_daemon_halted_past_every_lease_does_nothing_when_it_is_woken(house: House) -> None:
    slack = house.slack
    held = await house.halted_at("/v1/inquiries", QUESTION)
    assert "show" in {name.partition(":")[0] for name, _ in held}
    await slack.until(lambda: slack.opened == 2 and bool(slack.messages()))
    await slack.answer(slack.known, slack.messages()[0].name, [["staging"]])
    await house.answered()
    assert all_over(house.database, held)

    house.here.go_on()

    await anyio.to_thread.run_sync(house.here.says, "was held up past its lease")
    await anyio.to_thread.run_sync(house.here.says, "does not listen to slack any more: its turn is over")
    await slack.until(lambda: slack.connections == 1)
    (message,) = slack.messages()
    assert "Answered: staging — by ana" in message.text
    assert not message.answerable
    assert slack.opened == 2


@pytest.mark.parametrize("house", ["refresh:slack"], indirect=True)
async def test_the_widget_is_brought_up_to_date_though_who_was_at_it_is_killed(house: House) -> None:
    slack = house.slack
    asked = await anyio.to_thread.run_sync(lambda: house.there.person.post("/v1/inquiries", QUESTION))
    # Who is halted on the way must not be in the middle of something itself.
    await anyio.to_thread.run_sync(wait_until_shown, house.database)
    path = inquiry_path(asked["id"], "answer")
    await house.halted_at(path, {"text": "staging"})
    await anyio.to_thread.run_sync(house.here.kill)
    await slack.until(lambda: "Answered: staging" in slack.messages()[0].text)
    assert not slack.messages()[0].answerable


async def test_what_a_halted_daemon_had_asked_is_ended_and_what_it_asks_when_it_is_woken_is_not(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UPCALL_URL", raising=False)
    database = postgres.database(tmp_path)
    here, there = replicas = [
        Replica(tmp_path / name, database, UPCALL_ON_RESTART="cancel") for name in ("here", "there")
    ]

    def story() -> None:
        for replica in replicas:
            replica.start()
        ours = here.person.post("/v1/inquiries", QUESTION)
        theirs = there.person.post("/v1/inquiries", QUESTION)
        here.halt()
        there.says("a daemon is gone; ended 1 of its questions")
        assert there.person.get(inquiry_path(ours["id"]))["state"] == "cancelled"
        here.go_on()
        here.says("this daemon was not heard of for")
        since = here.person.post("/v1/inquiries", QUESTION)
        # It is alive again, and one more look at who is finds it so.
        there.halt()
        here.says("a daemon is gone; ended 1 of its questions")
        assert here.person.get(inquiry_path(theirs["id"]))["state"] == "cancelled"
        assert here.person.get(inquiry_path(since["id"]))["state"] == "open"

    try:
        await anyio.to_thread.run_sync(story)
    finally:
        for replica in replicas:
            await anyio.to_thread.run_sync(replica.end)


async def test_long_polling_goes_on_at_another_daemon_when_its_own_is_killed(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "WAIT_SECONDS", SECONDS)
    monkeypatch.delenv("UPCALL_URL", raising=False)
    database = postgres.database(tmp_path)
    async with FakeTelegram().served() as telegram:
        replicas = [Replica(tmp_path / name, database) for name in ("here", "there")]
        for replica in replicas:
            replica.home.config_file.write_text(TELEGRAM.format(url=telegram.url, place=telegram.place))
        here, there = replicas
        try:
            await anyio.to_thread.run_sync(here.start)
            await telegram.until(telegram.listening)
            await anyio.to_thread.run_sync(there.start)
            person = {"name": "ana", "channel": "telegram", "user": telegram.known}
            await anyio.to_thread.run_sync(there.person.post, "/v1/people", person)
            await anyio.to_thread.run_sync(there.person.post, "/v1/inquiries", QUESTION)
            await anyio.to_thread.run_sync(wait_until_shown, database)
            await anyio.to_thread.run_sync(here.kill)
            await telegram.until(lambda: len(telegram.messages()) == 1)
            await telegram.answer(telegram.known, telegram.messages()[0].name, [["staging"]])
            await telegram.until(lambda: "Answered: staging — by ana" in telegram.messages()[0].text)
            assert "listening to telegram" in there.log
        finally:
            for replica in replicas:
                await anyio.to_thread.run_sync(replica.end)
