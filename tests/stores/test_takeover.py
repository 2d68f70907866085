"""The work of a process that is dead is taken over long before its leases end; that of one that is halted is not."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, LiteralString

import pytest

from tests.stores.test_postgres_processes import line
from upcall.broker.heartbeat import JOB as PRESENCE
from upcall.config.settings import load
from upcall.daemon.wiring.store import open_store
from upcall.domain.records import TAKEN_OVER, Effects, Job
from upcall.home.files import Home
from upcall.stores.postgres import takeover
from upcall.stores.postgres.reads import Reads
from upcall.stores.postgres.store import PostgresStore
from upcall.stores.sqlite.store import SqliteStore

KINDS = ("show:slack", "refresh:slack", "remind:slack", "escalate", "resume", "listen:slack", PRESENCE)


def start(address: str, name: str) -> "subprocess.Popen[str]":
    """A process that has a job of every kind."""
    command = [sys.executable, "-m", "tests.stores.postgres_claimer", address, name, *KINDS]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def taken_over(store: PostgresStore, after: int) -> int:
    """Wait until jobs were taken over; returns where the log was then."""
    while True:
        for event in await store.events(after, wait=60):
            after = event.seq
            if event.type == TAKEN_OVER:
                return after


@pytest.fixture
async def store(address: str) -> AsyncIterator[PostgresStore]:
    """The store of a daemon that lives; it looks for dead ones."""
    opened = await PostgresStore.open(address)
    yield opened
    await opened.close()


@pytest.mark.promise("trust/44")
async def test_every_kind_of_job_of_a_killed_process_is_taken_over_and_of_a_halted_one_none(
    address: str, store: PostgresStore
) -> None:
    after = await store.last_seq()
    with start(address, "halted") as halted:
        # One after the other: a claim takes whatever is due, also the jobs of one that starts meanwhile.
        assert len(json.loads(await line(halted))) == len(KINDS)
        with start(address, "dead") as dead:
            fences = dict(json.loads(await line(dead)))
            os.kill(halted.pid, signal.SIGSTOP)
            try:
                dead.kill()
                await taken_over(store, after)
                claimed = await store.claim(KINDS, runner="", now=store.now(), lease=3600, limit=100)
                assert {job.id for job in claimed} == {f"dead:{kind}" for kind in KINDS}
                # Were it not dead but cut off, it could not settle anything any more.
                assert all(job.fence > fences[job.id] for job in claimed)
            finally:
                os.kill(halted.pid, signal.SIGCONT)
        # The one that was halted still has all of its jobs.
        assert halted.stdin is not None
        halted.stdin.write("\n")
        halted.stdin.flush()
        assert json.loads(await line(halted)) == len(KINDS)


@pytest.mark.promise("trust/44")
async def test_a_process_that_ended_in_peace_leaves_no_lease_behind_for_long(address: str) -> None:
    first = await PostgresStore.open(address)
    job = Job(id="a", kind="resume", subject="run:1", due=0.0)
    await first.revise("x", "y", lambda _: Effects(jobs=(job,)))
    assert await first.claim(["resume"], runner="", now=first.now(), lease=3600, limit=1)
    await first.close()
    second = await PostgresStore.open(address)
    await taken_over(second, 0)
    assert await second.claim(["resume"], runner="", now=second.now(), lease=3600, limit=1)
    await second.close()


def test_a_dead_process_is_noticed_within_five_seconds_with_time_to_spare() -> None:
    # A look may be up to one interval late, at the beginning and at the end.
    assert takeover.GRACE + 2 * takeover.LOOK_EVERY < 5


@pytest.mark.promise("trust/44")
async def test_a_killed_process_is_found_dead_by_no_more_looks_than_fit_into_five_seconds(
    address: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks come one interval apart. They are counted and not timed, so a busy machine changes nothing."""
    looks: list[bool] = []
    rows = Reads.rows

    async def counted(
        reads: Reads, sql: LiteralString | bytes, values: Any = (), *, closing: bool = False
    ) -> list[tuple[Any, ...]]:
        found = await rows(reads, sql, values, closing=closing)
        if b"pg_locks" in (sql if isinstance(sql, bytes) else sql.encode()):
            looks.append(bool(found))
        return found

    monkeypatch.setattr(Reads, "rows", counted)
    with start(address, "dead") as dead:
        await line(dead)
        after = await store.last_seq()
        dead.kill()
        await taken_over(store, after)
    found_dead = looks.count(True)
    # One look is not enough, since the process may only be making a new connection.
    assert found_dead > 1
    # The first of them comes at most one interval after the death, and the last one takes the jobs over.
    assert found_dead * takeover.LOOK_EVERY < 5


@pytest.mark.promise("trust/44")
async def test_a_daemon_with_a_file_of_its_own_ends_the_leases_of_the_one_before_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    before = await open_store(home, load(home))
    jobs = [Job(id=kind, kind=kind, subject="x", due=0.0) for kind in KINDS]
    later = Job(id="later", kind="remind:slack", subject="y", due=before.now() + 3600)
    await before.revise("x", "y", lambda _: Effects(jobs=(*jobs, later)))
    held = await before.claim(KINDS, runner="", now=before.now(), lease=3600, limit=100)
    assert len(held) == len(KINDS)
    await before.close()
    after = await open_store(home, load(home))
    assert isinstance(after, SqliteStore)
    claimed = await after.claim(KINDS, runner="", now=after.now(), lease=3600, limit=100)
    # What is only to be done later is left as it is.
    assert {job.id for job in claimed} == set(KINDS)
    assert not any([await after.settle(job) for job in held])
    # Its own leases are left as they are.
    assert await after.end_leases() == 0
    await after.close()
