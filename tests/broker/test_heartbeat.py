"""Daemons that share a store: when one is gone, its own questions are ended, and no other daemon's."""

import asyncio
from collections.abc import Sequence

import pytest

from upcall.broker.broker import Broker, Reply
from upcall.broker.heartbeat import ASKED, JOB, LEASE, Heartbeat
from upcall.domain.errors import StorageError
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Cancelled, Inquiry
from upcall.domain.records import Job
from upcall.domain.roles import Caller, Role
from upcall.ports.store import Records
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import Clock, an_origin

ANA = Caller(name="ana", role=Role.PERSON)


class Daemon:
    """As much of a daemon as this is about. It looks for others only when it is told to."""

    def __init__(self, store: SqliteStore, installation: str, on_restart: str = "cancel") -> None:
        self.heartbeat = Heartbeat(store, store.update, installation, on_restart)
        self.broker = Broker(store, follow_up=self.heartbeat.follow_up)

    async def ask(self) -> Inquiry:
        return (await self.broker.ask(draft({"question": "Which cache?"}), an_origin())).inquiry


async def arrived(store: SqliteStore, installation: str, on_restart: str = "cancel") -> Daemon:
    daemon = Daemon(store, installation, on_restart)
    await daemon.heartbeat.arrive()
    return daemon


async def test_a_daemon_that_starts_again_ends_what_it_had_asked_and_nothing_else(store: SqliteStore) -> None:
    here, there = await arrived(store, "here"), await arrived(store, "there")
    ours, theirs = await here.ask(), await there.ask()

    await arrived(store, "here")

    ended = (await store.get(ours.id)).state
    assert isinstance(ended, Cancelled)
    assert ended.closing.reason == "worker_restart"
    assert (await store.get(theirs.id)).is_open


@pytest.mark.parametrize(("on_restart", "state"), [("cancel", "cancelled"), ("fail", "failed")])
async def test_a_daemon_that_is_not_heard_of_is_ended_as_it_had_wished_by_whoever_is_alive(
    store: SqliteStore, clock: Clock, on_restart: str, state: str
) -> None:
    ours = await (await arrived(store, "here", on_restart)).ask()
    other = await arrived(store, "there", "keep")
    clock.now += LEASE - 1
    await other.heartbeat.beat()
    assert (await store.get(ours.id)).is_open
    clock.now += 1
    await other.heartbeat.beat()
    assert (await store.get(ours.id)).state_name == state


async def test_a_daemon_that_ends_in_peace_is_not_waited_for(store: SqliteStore) -> None:
    here, other = await arrived(store, "here"), await arrived(store, "there", "keep")
    ours = await here.ask()
    await here.heartbeat.close()
    await other.heartbeat.beat()
    assert (await store.get(ours.id)).state_name == "cancelled"


async def test_what_was_settled_is_not_remembered_and_what_is_kept_never_was(store: SqliteStore) -> None:
    here, keeping = await arrived(store, "here"), await arrived(store, "there", "keep")
    await keeping.ask()
    first, second = await here.ask(), await here.ask()
    assert {record.key for record in (await store.records(ASKED)).items} == {first.id, second.id}
    await here.broker.receive(first.id, Reply(text="Redis"), ANA)
    assert [record.key for record in (await store.records(ASKED)).items] == [second.id]
    # A daemon that keeps no records forgets none; they go with their daemon, and their inquiry stays as it was.
    await keeping.broker.receive(second.id, Reply(text="Redis"), ANA)
    await arrived(store, "here")
    assert (await store.get(second.id)).state_name == "answered"
    assert (await store.records(ASKED)).items == ()


async def test_a_daemon_that_was_halted_and_woken_goes_on_as_another(
    store: SqliteStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    woken, other = await arrived(store, "here"), await arrived(store, "there", "keep")
    before = await woken.ask()
    clock.now += LEASE
    await other.heartbeat.beat()
    assert await store.jobs(JOB, "here") == []
    since = await woken.ask()

    await woken.heartbeat.beat()

    assert "not heard of" in caplog.text
    assert (await store.get(before.id)).state_name == "cancelled"
    for _ in range(3):
        clock.now += LEASE - 1
        await woken.heartbeat.beat()
        await other.heartbeat.beat()
    assert (await store.get(since.id)).is_open
    # What it asked before it knew is its own all the same.
    clock.now += LEASE
    await other.heartbeat.beat()
    assert (await store.get(since.id)).state_name == "cancelled"


async def test_whoever_is_halted_while_it_ends_questions_leaves_the_rest_to_another(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = await (await arrived(store, "here")).ask()
    halted, other = await arrived(store, "there", "keep"), await arrived(store, "elsewhere", "keep")
    clock.now += LEASE
    look_up = store.records

    async def slowly(kind: str, *, state: str | None = None, limit: int = 50) -> Records:
        page = await look_up(kind, state=state, limit=limit)
        monkeypatch.undo()
        clock.now += LEASE
        assert len(await store.claim([JOB], runner="", now=clock.now, lease=LEASE, limit=1)) == 1
        return page

    monkeypatch.setattr(store, "records", slowly)
    await halted.heartbeat.beat()
    assert (await store.get(ours.id)).is_open
    assert "left to another" in caplog.text

    clock.now += LEASE
    await other.heartbeat.beat()
    assert (await store.get(ours.id)).state_name == "cancelled"


async def test_a_daemon_says_that_it_is_there_as_soon_as_the_store_is_back_and_while_another_cannot_be_ended(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew, failures, stayed = store.renew, [StorageError("no connection")] * 8, asyncio.Event()

    async def renewing(job: Job, due: float) -> bool:
        if failures:
            raise failures.pop()
        stayed.set()
        return await renew(job, due)

    async def never(_kinds: Sequence[str], _runner: str) -> float | None:
        raise StorageError("a job cannot be ended")

    heartbeat = Heartbeat(store, store.update, "here", "cancel", lease=0.3)
    await heartbeat.start()
    monkeypatch.setattr(store, "renew", renewing)
    monkeypatch.setattr(store, "next_due", never)
    try:
        # With pauses that grow beyond the lease, others would have ended its questions long before.
        async with asyncio.timeout(20):
            await stayed.wait()
    finally:
        monkeypatch.undo()
        await heartbeat.close()
