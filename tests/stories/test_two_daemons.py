"""Two daemons, one PostgreSQL database: it does not matter at which of them a question is asked or answered."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer
from tests.stories.conftest import Json, Scene
from upcall.home.files import Home
from upcall.home.instance import stop_running


@pytest.fixture
def scenes(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Scene, Scene]]:
    """Two homes with a daemon each, on one database."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN", "UPCALL_HOME", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UPCALL_DATABASE", postgres.database(tmp_path))
    homes = [Home(tmp_path / name) for name in ("here", "there")]
    with ThreadPoolExecutor(8) as threads:
        here, there = (Scene(home, threads) for home in homes)
        try:
            here.daemon()
            there.daemon()
            yield here, there
        finally:
            for scene in (here, there):
                scene.end()
                stop_running(scene.home)


def answers_of(result: Json) -> object:
    return result["structuredContent"]["answers"]


def test_an_agent_asks_here_and_the_person_answers_there(scenes: tuple[Scene, Scene]) -> None:
    here, there = scenes
    call, _ = here.asks(here.agent())

    assert there.answer(there.next_question()["ref"], "2")["accepted"]

    assert answers_of(call.result()) == [["Memcached"]]
    assert here.times_asked() == there.times_asked() == 1


def test_the_agents_daemon_is_killed_while_the_answer_is_given_at_the_other(
    scenes: tuple[Scene, Scene],
) -> None:
    here, there = scenes
    call, inquiry = here.asks(here.agent())

    here.kill_daemon()
    assert there.answer(inquiry["ref"], "1")["accepted"]

    # The agent's pipe starts its daemon again and asks under the same key.
    assert answers_of(call.result()) == [["Redis"]]
    assert there.times_asked() == 1


def test_the_daemon_that_took_the_answer_is_killed_right_after_it(scenes: tuple[Scene, Scene]) -> None:
    here, there = scenes
    call, inquiry = here.asks(here.agent())

    assert there.answer(inquiry["ref"], "1")["accepted"]
    there.kill_daemon()

    assert answers_of(call.result()) == [["Redis"]]


def test_what_was_asked_through_a_dead_daemon_is_ended_and_nothing_else(
    scenes: tuple[Scene, Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = scenes
    monkeypatch.setenv("UPCALL_ON_RESTART", "cancel")
    for scene in scenes:
        stop_running(scene.home)
        scene.daemon()
    ours = here.person.post("/v1/inquiries", {"question": "Which cache?"})
    theirs = there.person.post("/v1/inquiries", {"question": "Which queue?"})

    here.kill_daemon()

    # The next command in this home starts it again.
    assert here.show(theirs["id"])["state"] == "open"
    assert there.show(ours["id"])["state"] == "cancelled"


def test_either_daemon_keeps_its_own_credentials(scenes: tuple[Scene, Scene]) -> None:
    here, there = scenes
    for scene in scenes:
        stop_running(scene.home)
        scene.daemon()
    names = [token["name"] for token in here.person.get("/v1/tokens")["items"]]
    assert len(names) == len(set(names)) == 4
    assert there.person.get("/v1/tokens")["items"] == here.person.get("/v1/tokens")["items"]
