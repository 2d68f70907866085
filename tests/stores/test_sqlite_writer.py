"""The thread that writes: how it groups, and what a failure does to its group."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from upcall.domain.errors import StorageError
from upcall.stores.sqlite.errors import storage_error
from upcall.stores.sqlite.writer import Work, Writer
from upcall.stores.tail import Logged


class Notes:
    """A table of words, and how often something was committed to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        self.db.execute("CREATE TABLE note (word TEXT UNIQUE)")
        self.statements: list[str] = []
        self.db.set_trace_callback(self.statements.append)
        self.undone = 0

    def begin(self) -> None:
        """Nothing to prepare."""

    def finish(self, log: Sequence[Logged]) -> None:
        """Nothing to add."""

    def undo(self) -> None:
        self.undone += 1

    def start(self, max_group: int = 1000) -> Writer:
        return Writer(
            self.db, self, lambda _: None, lambda error: storage_error(error, self.path), max_group=max_group
        )

    def write(self, word: str) -> Work[str]:
        def work(_: list[Logged]) -> str:
            self.db.execute("INSERT INTO note VALUES (?)", (word,))
            return word

        return work

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")


def words(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        found = [word for (word,) in db.execute("SELECT word FROM note ORDER BY rowid")]
    db.close()
    return found


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    made = Notes(tmp_path / "notes.db")
    yield made
    made.db.close()


def held_up(gate: threading.Event) -> Work[None]:
    """Keeps the thread busy, so that what is submitted meanwhile waits together."""

    def work(_: list[Logged]) -> None:
        gate.wait()

    return work


async def test_what_is_asked_during_a_commit_shares_the_next_one(notes: Notes) -> None:
    gate = threading.Event()
    writer = notes.start()
    first = writer.submit(held_up(gate))
    rest = [writer.submit(notes.write(str(number))) for number in range(100)]
    gate.set()
    await asyncio.gather(first, *rest)
    # The first may have been alone or not: the thread takes the work that is there when it looks.
    assert notes.commits <= 2
    await writer.stop()
    assert words(notes.path) == [str(number) for number in range(100)]


async def test_a_group_of_one_gives_every_write_its_own_commit(notes: Notes) -> None:
    writer = notes.start(max_group=1)
    await asyncio.gather(*[writer.submit(notes.write(str(number))) for number in range(20)])
    assert notes.commits == 20
    await writer.stop()


async def test_one_that_fails_after_writing_takes_only_itself_back(notes: Notes) -> None:
    def half_way(log: list[Logged]) -> str:
        notes.write("half")(log)
        raise ValueError("half-way")

    writer = notes.start()
    works = [notes.write("a"), half_way, notes.write("b")]
    results = await asyncio.gather(*[writer.submit(work) for work in works], return_exceptions=True)
    assert [str(result) for result in results] == ["a", "half-way", "b"]
    await writer.stop()
    assert words(notes.path) == ["a", "b"]
    assert notes.undone


async def test_one_that_the_database_refuses_fails_alone_and_in_our_words(notes: Notes) -> None:
    writer = notes.start()
    works = [notes.write("a"), notes.write("a"), notes.write("b")]
    results = await asyncio.gather(*[writer.submit(work) for work in works], return_exceptions=True)
    assert [type(result) for result in results] == [str, StorageError, str]
    await writer.stop()
    assert words(notes.path) == ["a", "b"]


async def test_even_what_a_loop_cannot_carry_reaches_its_caller(notes: Notes) -> None:
    def stop(_: list[Logged]) -> None:
        raise StopIteration

    def leave(_: list[Logged]) -> None:
        raise SystemExit

    writer = notes.start()
    with pytest.raises(RuntimeError):
        await writer.submit(stop)
    with pytest.raises(SystemExit):
        await writer.submit(leave)
    assert await writer.submit(notes.write("still here")) == "still here"
    await writer.stop()


async def test_a_write_is_done_though_its_caller_no_longer_waits(notes: Notes) -> None:
    gate = threading.Event()
    writer = notes.start()
    first = writer.submit(held_up(gate))
    gone = writer.submit(notes.write("gone"))
    stays = writer.submit(notes.write("stays"))
    gone.cancel()
    gate.set()
    await first
    assert await stays == "stays"
    await writer.stop()
    assert words(notes.path) == ["gone", "stays"]


async def test_stopping_first_does_what_was_asked(notes: Notes) -> None:
    writer = notes.start()
    asked = [writer.submit(notes.write(str(number))) for number in range(50)]
    await writer.stop()
    assert all(future.done() for future in asked)
    assert len(words(notes.path)) == 50
    with pytest.raises(StorageError, match="closed"):
        await writer.submit(notes.write("late"))


async def test_a_database_that_another_program_locks_is_said_to_be_locked(notes: Notes) -> None:
    other = sqlite3.connect(notes.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = notes.start()
    results = await asyncio.gather(
        *[writer.submit(notes.write(word)) for word in ("a", "b")], return_exceptions=True
    )
    assert ["locked" in str(result) for result in results] == [True, True]
    other.execute("ROLLBACK")
    other.close()
    assert await writer.submit(notes.write("c")) == "c"
    await writer.stop()
