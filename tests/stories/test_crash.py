"""Nothing is lost and nothing is asked twice when the daemon, a pipe or an agent is killed at any time."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.conftest import CACHE, Json, Scene
from upcall.broker.broker import Broker, Reply
from upcall.domain.roles import Caller, Role
from upcall.home.instance import stop_running
from upcall.stores.sqlite.store import SqliteStore


def status_of(result: Json) -> object:
    return result["structuredContent"]["status"]


def answers_of(result: Json) -> object:
    return result["structuredContent"]["answers"]


def test_a_daemon_killed_between_ask_and_answer_loses_nothing(scene: Scene) -> None:
    call, inquiry = scene.asks(scene.agent())

    scene.kill_daemon()
    scene.answer(inquiry["ref"], "2")

    assert answers_of(call.result()) == [["Memcached"]]
    assert scene.times_asked() == 1


@pytest.mark.promise("spec/3")
def test_a_daemon_killed_between_answer_and_wake_loses_nothing(scene: Scene) -> None:
    agent = scene.agent()
    call, inquiry = scene.asks(agent)
    os.kill(agent.pid, signal.SIGSTOP)  # so that its pipe does not start the daemon again meanwhile
    scene.kill_daemon()

    # What a daemon leaves behind that died right after its commit.
    asyncio.run(answer_on_disk(scene.home.database_file, inquiry["id"]))
    os.kill(agent.pid, signal.SIGCONT)

    assert answers_of(call.result()) == [["Redis"]]
    assert scene.times_asked() == 1


async def answer_on_disk(database: Path, name: str) -> None:
    store = await SqliteStore.open(database)
    broker = Broker(store)
    settled = await broker.receive(name, Reply(text="1"), Caller(name="ana", role=Role.PERSON))
    assert settled.accepted
    await store.close()


def test_many_agents_survive_a_restart_under_them(scene: Scene) -> None:
    waiting = [scene.asks(scene.agent(), {"question": f"Question {number}?"}) for number in range(5)]

    stop_running(scene.home)
    scene.daemon()
    for _, inquiry in waiting:
        scene.answer(inquiry["id"], f"answer to {inquiry['questions'][0]['question']}")

    for call, inquiry in waiting:
        assert answers_of(call.result()) == [[f"answer to {inquiry['questions'][0]['question']}"]]
    assert scene.times_asked() == 5


def test_down_parks_those_who_wait_and_they_start_nothing(scene: Scene) -> None:
    call, inquiry = scene.asks(scene.agent())

    subprocess.run([sys.executable, "-m", "upcall", "down"], check=True, capture_output=True)

    result = call.result()
    assert status_of(result) == "parked"
    assert result["structuredContent"]["id"] == inquiry["id"]
    assert not result.get("isError")
    assert scene.home.running() is None


def test_an_answer_given_while_the_agent_was_away_is_there_when_it_asks_again(scene: Scene) -> None:
    call, inquiry = scene.asks(scene.agent())
    subprocess.run([sys.executable, "-m", "upcall", "down"], check=True, capture_output=True)
    assert status_of(call.result()) == "parked"

    scene.daemon()
    scene.answer(inquiry["ref"], "1")
    later = scene.agent().call("wait_for_answer", {"id": inquiry["id"]})

    assert answers_of(later) == [["Redis"]]


def test_an_agent_that_dies_leaves_its_question_open(scene: Scene) -> None:
    agent = scene.agent()
    call, inquiry = scene.asks(agent)

    os.kill(agent.pid, signal.SIGKILL)

    with pytest.raises(ConnectionError):
        call.result()
    assert scene.show(inquiry["id"])["state"] == "open"
    assert scene.answer(inquiry["ref"], "1")["accepted"]


def test_two_questions_of_one_agent_are_both_answered(scene: Scene) -> None:
    first, one = scene.asks(scene.agent(), CACHE)
    second, two = scene.asks(scene.agent(), {"question": "Which port?"})

    scene.answer(two["ref"], "6379")
    scene.answer(one["ref"], "Redis")

    assert (answers_of(first.result()), answers_of(second.result())) == ([["Redis"]], [["6379"]])


@pytest.mark.promise("poietai/5")
def test_two_commands_at_once_start_one_daemon(scene: Scene) -> None:
    stop_running(scene.home)
    commands = [
        subprocess.Popen([sys.executable, "-m", "upcall", "status", "--json"], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [command.wait() for command in commands] == [0] * 4
    for command in commands:
        assert command.stdout is not None
        command.stdout.close()

    # One for the scene itself and, after its end, one for all four commands.
    assert scene.home.log_file.read_text().count("listening at") == 2
