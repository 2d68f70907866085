"""Daemons on machines with different clocks, and one that was halted and woken: the database's clock and fences count."""

import itertools
import signal
import subprocess
import sys
import time

import pytest

from tests.stores.test_postgres_processes import line
from upcall.broker.broker import Broker, Reply
from upcall.domain.inquiry.asking import draft
from upcall.domain.records import Effects
from upcall.domain.roles import Caller, Role
from upcall.stores.postgres.clock import DatabaseClock
from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import HOUR, NOW, an_origin
from upcall.testing.store_ledger import LEASE, a_job, a_record, claimed, put

MINUTE = HOUR / 60
ANA = Caller(name="ana", role=Role.PERSON)


def start(module: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", f"tests.stores.{module}", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("wrong_by", [-2 * HOUR, 2 * HOUR])
async def test_a_machine_with_a_wrong_clock_neither_ends_questions_nor_gives_them_other_deadlines(
    address: str, wrong_by: float
) -> None:
    store = await PostgresStore.open(address)
    broker = Broker(store)
    await broker.start()
    ours = (await broker.ask(draft({"question": "Which cache?", "ttl": 60}), an_origin())).inquiry
    with start("postgres_skewed", address, str(wrong_by)) as wrong:
        assert await line(wrong) == "overdue"
        theirs = await store.get(await line(wrong))
        assert ours.asked_at - MINUTE <= theirs.asked_at <= store.now() + MINUTE
        assert (await broker.receive(theirs.id, Reply(text="Redis"), ANA)).accepted
        assert await line(wrong) == "answered"
    assert (await store.get(ours.id)).is_open
    await broker.close()
    await store.close()


async def test_a_wrong_clock_is_said_to_be_wrong(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await (await PostgresStore.open(address)).close()
    assert "clock" not in caplog.text
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() - 300)
    store = await PostgresStore.open(address)
    assert "clock of this machine is 300 seconds behind the database's" in caplog.text
    assert abs(store.now() - right()) < MINUTE
    await store.close()


def test_a_slow_look_at_the_clock_corrects_no_more_than_it_knows() -> None:
    clock = DatabaseClock(lambda: 100.0)
    clock.learn(5000.0, before=100.0, after=100.0)
    assert clock.now() == 5000.0
    # It took ten seconds, and what was believed is possible.
    clock.learn(5007.0, before=100.0, after=110.0)
    assert clock.now() == 5000.0
    clock.learn(5020.0, before=100.0, after=110.0)
    assert clock.now() == 5010.0
    clock.learn(5000.0, before=100.0, after=101.0)
    assert clock.now() == 5000.0


async def test_who_was_halted_past_its_lease_can_neither_renew_nor_settle(address: str) -> None:
    store = await PostgresStore.open(address)
    await put(store, a_job(due=0.0))
    with start("postgres_holder", address) as holder:
        assert await line(holder) == "claimed"
        holder.send_signal(signal.SIGSTOP)
        (ours,) = await claimed(store, now=store.now() + LEASE)
        holder.send_signal(signal.SIGCONT)
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert await line(holder) == "False False"
    assert await store.look_up("run", "1") is None
    assert await store.settle(ours, Effects(records=(a_record(),)))
    await store.close()


async def test_a_claim_that_is_heard_of_after_its_lease_is_nobodys(
    shared: PostgresStore, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    await put(shared, a_job())
    # Every look at this clock is a lease later than the last one.
    moments = itertools.count(NOW, LEASE)
    halted = await PostgresStore.open(address, clock=lambda: next(moments))
    assert await claimed(halted) == []
    assert "held up" in caplog.text
    assert len(await claimed(shared, now=NOW + LEASE)) == 1
    await halted.close()
