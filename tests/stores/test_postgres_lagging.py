"""A daemon that has not heard yet what another one has committed: who comes from there is not told it once more."""

import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from upcall.stores.postgres.store import PostgresStore
from upcall.testing.examples import an_inquiry

LISTENERS = """
    SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE locktype = 'advisory' AND datname = current_database()
"""
"""The connection over which a store is told what is new also holds the lock of its life."""


@pytest.fixture
def _deaf(address: str, shared: PostgresStore, other: PostgresStore) -> Iterator[None]:
    """The server's processes that tell the stores what is new are halted."""
    with psycopg.connect(address) as connection:
        listeners = [pid for (pid,) in connection.execute(LISTENERS).fetchall()]
    assert len(listeners) == 2
    for pid in listeners:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in listeners:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.usefixtures("_deaf")
async def test_a_number_that_another_daemon_has_told_is_not_taken_for_one_beyond_the_log(
    shared: PostgresStore, other: PostgresStore
) -> None:
    await shared.add(an_inquiry())
    assert await other.last_seq(1) == 1
    assert await other.last_seq(99) == 1
