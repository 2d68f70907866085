"""Daemons on machines with clocks that are hours apart: deadlines, links and turns go by the clock of the database, and each daemon warns."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.postgres_server import PostgresServer
from tests.stories.replica import SECONDS, Replica
from upcall.cli.client import inquiry_path
from upcall.domain.text.times import moment

HOUR = 3600.0
PUBLIC = "http://upcall.example"


@pytest.fixture
def replicas(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Replica, Replica]]:
    """One is two hours ahead, the other three behind."""
    monkeypatch.delenv("UPCALL_URL", raising=False)
    database = postgres.database(tmp_path)
    ahead, behind = (
        Replica(tmp_path / name, database, clock=clock, UPCALL_PUBLIC_URL=PUBLIC, UPCALL_ON_RESTART="cancel")
        for name, clock in (("ahead", 2 * HOUR), ("behind", -3 * HOUR))
    )
    try:
        ahead.start()
        behind.start()
        yield ahead, behind
    finally:
        ahead.end()
        behind.end()


def test_questions_links_and_lives_last_as_long_as_they_should(replicas: tuple[Replica, Replica]) -> None:
    ahead, behind = replicas
    ahead.says("the clock of this machine is 7200 seconds ahead of the database's, which counts")
    behind.says("the clock of this machine is 10800 seconds behind the database's, which counts")
    for here, there in ((ahead, behind), (behind, ahead)):
        asked = here.person.post("/v1/inquiries", {"question": "Which cache?", "ttl": 600})
        brief = here.person.post("/v1/inquiries", {"question": "Which port?", "ttl": 1})
        assert abs(moment(asked["expires_at"]) - time.time() - 600) < SECONDS
        # The first daemon to wake ends it, and not before its time.
        waited = there.person.get(inquiry_path(brief["id"], "wait"), patience=30, timeout="30s")
        assert waited["state"] == "expired"
        assert moment(waited["expires_at"]) - moment(waited["asked_at"]) == 1
        signs_in(here, there)
        # Neither takes the other for dead, nor what it asked for over.
        assert there.person.get(inquiry_path(asked["id"]))["state"] == "open"
        answer = there.person.post(inquiry_path(asked["id"], "answer"), {"text": "Redis"})
        assert answer["accepted"]


def signs_in(here: Replica, there: Replica) -> None:
    """A link that was made at one daemon is good at the other, for it is not old."""
    link = here.person.post("/v1/sign-in-links", {})["url"]
    running = there.home.running()
    assert running is not None
    headers = {"Host": PUBLIC.removeprefix("http://"), "Origin": PUBLIC}
    form = {"code": link.partition("code=")[2]}
    entered = httpx2.post(f"{running.url}/sign-in", headers=headers, data=form, timeout=SECONDS)
    assert entered.status_code == 303, entered.text
