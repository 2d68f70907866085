"""A daemon is killed during a job with a lease of a minute: another daemon, or the next one, does the job at once."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from tests.channels import changing
from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.postgres_server import PostgresServer
from tests.stories.replica import Replica, wait_until_shown
from tests.stories.test_replica_channels import SETTINGS
from upcall.cli.client import inquiry_path

SECONDS = 120.0
pytestmark = pytest.mark.timeout(2 * SECONDS)
QUESTION: dict[str, Any] = {"question": "Deploy where?", "options": ["staging", "production"]}


async def aside(work: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(work)


def replica(folder: Path, slack: FakeSlack, database: str, halts: str = "") -> Replica:
    """A daemon with the leases of the product, which are a minute for a message."""
    made = Replica(folder, database, BOT=BOT_TOKEN, APP=APP_TOKEN, HALT=halts, LEASE="0")
    made.home.config_file.write_text(SETTINGS.format(url=slack.url))
    return made


@pytest.mark.promise("trust/44")
@pytest.mark.parametrize("halts", ["show:slack", "refresh:slack"])
async def test_another_daemon_does_what_a_killed_one_was_at(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, halts: str
) -> None:
    monkeypatch.setattr(changing, "WAIT_SECONDS", SECONDS)
    monkeypatch.delenv("UPCALL_URL", raising=False)
    database = postgres.database(tmp_path)
    async with FakeSlack().served() as slack:
        here = replica(tmp_path / "here", slack, database, halts)
        there = replica(tmp_path / "there", slack, database)
        try:
            await aside(here.start)
            path, body = "/v1/inquiries", QUESTION
            if halts == "refresh:slack":
                asked = await aside(lambda: here.person.post("/v1/inquiries", QUESTION))
                await aside(lambda: wait_until_shown(database))
                path, body = inquiry_path(asked["id"], "answer"), {"text": "staging"}
            posting = asyncio.create_task(aside(partial(here.person.post, path, body)))
            held = await aside(here.halted)
            assert halts.partition(":")[0] in {name.partition(":")[0] for name, _ in held}
            with psycopg.connect(database) as admin:
                ends = admin.execute("SELECT max(due) FROM upcall.job WHERE kind = %s", (halts,)).fetchone()
            await aside(here.kill)
            # It may have been killed before it could reply.
            await asyncio.gather(posting, return_exceptions=True)
            await aside(there.start)
            wanted = "Deploy where?" if halts == "show:slack" else "Answered: staging"
            await slack.until(lambda: any(wanted in message.text for message in slack.messages()))
            with psycopg.connect(database) as admin:
                now = admin.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            assert now is not None
            assert ends is not None
            assert now[0] < ends[0], (
                "it was done when the lease had ended, and not because its holder was dead"
            )
            assert len(slack.messages()) == 1
        finally:
            for each in (here, there):
                await aside(each.end)


@pytest.mark.promise("trust/44")
async def test_the_next_daemon_of_a_home_does_what_the_killed_one_was_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Less than the lease: it is not the end of the lease that this waits for.
    monkeypatch.setattr(changing, "WAIT_SECONDS", 50.0)
    monkeypatch.delenv("UPCALL_URL", raising=False)
    async with FakeSlack().served() as slack:
        home = replica(tmp_path / "home", slack, "", "show:slack")
        try:
            await aside(home.start)
            posting = asyncio.create_task(aside(lambda: home.person.post("/v1/inquiries", QUESTION)))
            await aside(home.wait_until_halted)
            assert slack.messages() == []
            await aside(home.kill)
            await asyncio.gather(posting, return_exceptions=True)
            await aside(home.start)
            await slack.until(lambda: any("Deploy where?" in message.text for message in slack.messages()))
        finally:
            await aside(home.end)
