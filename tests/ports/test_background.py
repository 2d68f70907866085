"""A background loop survives any failure, and ends when its owner closes it."""

import asyncio
import logging

import pytest

from upcall.domain.errors import StorageError
from upcall.ports.background import Background

log = logging.getLogger("upcall.test")


async def test_a_turn_that_fails_is_logged_and_the_next_one_follows(caplog: pytest.LogCaptureFixture) -> None:
    """A store that cannot be used is worth a line; any other failure is shown with where it happened."""
    failures = [StorageError("the disk is full"), RuntimeError("a mistake")]
    done = asyncio.Event()

    async def turn() -> None:
        if failures:
            raise failures.pop(0)
        done.set()
        await asyncio.Event().wait()

    working = Background("counting", turn, log, pauses=(0.0,))
    working.start()
    await done.wait()
    await working.close()
    full, mistake = caplog.records
    assert full.getMessage() == "counting: the disk is full; again in 0 s"
    assert (full.levelname, full.exc_info) == ("WARNING", None)
    assert mistake.getMessage() == "counting failed; again in 0 s"
    assert mistake.exc_info is not None


async def test_the_pause_grows_with_each_failure_in_a_row(caplog: pytest.LogCaptureFixture) -> None:
    """A turn that goes well begins the count anew."""
    outcomes = [False, False, False, True, False]
    done = asyncio.Event()

    async def turn() -> None:
        if not outcomes:
            done.set()
            await asyncio.Event().wait()
        elif not outcomes.pop(0):
            raise StorageError("the disk is full")

    working = Background("counting", turn, log, pauses=(0.0, 0.001, 0.002))
    working.start()
    await done.wait()
    await working.close()
    pauses = [record.getMessage().rpartition("again in ")[2] for record in caplog.records]
    assert pauses == ["0 s", "0.001 s", "0.002 s", "0 s"]


async def test_a_closed_loop_takes_no_further_turn_and_can_be_started_again() -> None:
    """Closing twice, or before the start, does nothing."""
    turns = 0
    waiting = asyncio.Event()

    async def turn() -> None:
        nonlocal turns
        turns += 1
        waiting.set()
        await asyncio.Event().wait()

    working = Background("counting", turn, log)
    await working.close()
    working.start()
    working.start()
    await waiting.wait()
    await working.close()
    await working.close()
    assert turns == 1
    waiting.clear()
    working.start()
    await waiting.wait()
    await working.close()
    assert turns == 2


async def test_a_loop_that_is_closed_with_grace_finishes_its_turn_and_begins_no_other() -> None:
    """One that takes longer than that is ended in the middle."""
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), 0

    async def turn() -> None:
        nonlocal ended
        begun.set()
        await may_end.wait()
        ended += 1

    working = Background("counting", turn, log)
    working.start()
    await begun.wait()
    closing = asyncio.ensure_future(working.close(grace=3600))
    await asyncio.sleep(0)
    may_end.set()
    await closing
    assert ended == 1
    may_end.clear()
    begun.clear()
    working.start()
    await begun.wait()
    await working.close(grace=0.001)
    assert ended == 1


@pytest.mark.promise("proof/28")
async def test_turns_that_have_nothing_to_wait_for_do_not_keep_the_loop() -> None:
    """As those of a follower whose store is closed: each read returns at once."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        turns += 1
        if turns == 1000:
            await asyncio.Event().wait()

    working = Background("reading", turn, log)
    working.start()
    for _ in range(5):
        await asyncio.sleep(0)
    await working.close()
    assert 0 < turns < 1000


@pytest.mark.promise("proof/28")
async def test_a_turn_that_loses_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a driver of a database does that is told at the same time that its connection is lost, and tries again."""
    monkeypatch.setattr("upcall.ports.background.CANCELLED_AGAIN", 0.01)
    begun, lost = asyncio.Event(), list[int]()

    async def turn() -> None:
        while True:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append(1)

    working = Background("asking", turn, log)
    working.start()
    await begun.wait()
    await working.close()
    assert lost == [1]
