"""Several processes, one PostgreSQL database: an answer reaches its waiter, even if another process is killed."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from upcall.broker.broker import Broker, Reply
from upcall.domain.roles import Caller, Role
from upcall.ports.store import Query
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, an_inquiry

ANA = Caller(name="ana", role=Role.PERSON)


@pytest.fixture
async def broker(address: str) -> AsyncIterator[Broker]:
    """The person's daemon."""
    store = await PostgresStore.open(address)
    opened = Broker(store)
    await opened.start()
    yield opened
    await opened.close()
    await store.close()


def start(module: str, address: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", f"tests.stores.{module}", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def test_an_agent_waits_in_one_process_and_the_answer_is_given_in_another(
    broker: Broker, address: str
) -> None:
    with start("postgres_peer", address) as agent:
        name = await line(agent)
        assert (await broker.receive(name, Reply(text="2"), ANA)).accepted
        assert "Memcached" in await line(agent)
    assert agent.returncode == 0


async def test_an_answer_given_while_the_waiting_process_was_dead_is_there_when_it_asks_again(
    broker: Broker, address: str
) -> None:
    with start("postgres_peer", address) as agent:
        name = await line(agent)
        agent.kill()
    assert (await broker.receive(name, Reply(text="1"), ANA)).accepted
    with start("postgres_peer", address) as agent:
        assert await line(agent) == name
        assert "Redis" in await line(agent)
    events = await broker.store.events(0)
    assert [event.type for event in events] == ["asked", "answered"]


async def test_an_answer_wakes_the_waiter_though_its_process_was_killed_right_after_it(
    broker: Broker, address: str
) -> None:
    with start("postgres_peer", address) as agent:
        name = await line(agent)
        command = [sys.executable, "-m", "tests.stores.postgres_last_words", address, name]
        killed = await asyncio.to_thread(subprocess.run, command, check=False)
        assert killed.returncode < 0
        assert "Redis" in await line(agent)


async def test_a_process_killed_while_it_writes_loses_nothing_and_holds_no_other_up(
    broker: Broker, address: str
) -> None:
    told: list[tuple[str, str]] = []
    own: list[str] = []
    for lines in (50, 400, 1000):
        with start("busy_writer", address) as writer:
            assert writer.stdout is not None
            said = []
            for at in range(lines):
                said.append(await line(writer))
                if at % 20 == 0:
                    own.append((await broker.store.add(an_inquiry(session="mine"))).inquiry.id)
            writer.kill()
            rest = await asyncio.to_thread(writer.stdout.readlines)
        said += [each.strip() for each in rest if each.endswith("\n")]
        told += [(what, name) for what, name in (each.split() for each in said)]
        own.append((await broker.store.add(an_inquiry(session="mine"))).inquiry.id)

    found = {each.id: each for each in (await broker.store.find(Query(limit=100_000))).items}
    assert set(own) <= set(found)
    for what, name in told:
        assert what == "asked" or found[name].state_name == "answered"
    seen: list[int] = []
    last = await broker.store.last_seq()
    while len(seen) < last:
        seen += [event.seq for event in await broker.store.events(len(seen), wait=HOUR)]
    assert seen == list(range(1, len(seen) + 1))
