"""Some of the scenarios of `make crash`, on both stores; and the oracle sees what is wrong."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require
from tests.crash.__main__ import play
from tests.crash.log import Json
from tests.crash.oracle import check
from tests.crash.scenarios import BrokenError, Played
from tests.postgres_server import binaries

COUNT = int(os.environ.get("UPCALL_TEST_CRASHES", "300"))
SOUND = ("asked", "shown", "answered", "collected")


@pytest.mark.promise("proof/4")
@pytest.mark.timeout(1800)
def test_the_promises_hold_when_processes_die_and_networks_disks_and_clocks_fail() -> None:
    require(binaries(), "PostgreSQL")
    outcome = play("19", COUNT, lanes=2)
    assert outcome.found == []
    assert outcome.scenarios.total() == COUNT


class ToldLog:
    """A log that says what a test says."""

    def __init__(self, *steps: str, name: str = "q") -> None:
        self.names = {"i": name}
        data = {"answers": [["Red"]]}
        self.events = [
            {"seq": seq, "type": step, "inquiry": "i", "data": data} for seq, step in enumerate(steps, 1)
        ]

        self.whole = list(self.events)

    def until(self, true: Callable[[], bool], otherwise: str) -> bool:
        """Everything has happened that ever will."""
        return True

    def read(self) -> list[Json]:
        """All of it."""
        return self.whole


class ToldReceiver:
    """A channel that has seen what a test says."""

    def __init__(self, *shown: str) -> None:
        self.shown, self.states = {"i": list(shown)}, {"i": "answered"}


class Told:
    """An installation of which nothing is left but what a test says."""

    def __init__(self, folder: Path, log: ToldLog, receiver: ToldReceiver) -> None:
        self.folder, self.log, self.receiver = folder, log, receiver


def checked(there: Any, given: str) -> None:
    """Have the oracle look at one question that was answered."""
    check(there, [Played(name="q", by_run=True, faults={}, inquiry="i", acknowledged=given)])


@pytest.mark.promise("proof/4")
@pytest.mark.parametrize(
    ("steps", "given", "told", "shown"),
    [
        (("asked", "asked", "answered", "collected"), "Red", 0, 0),
        (("asked", "answered", "collected", "collected"), "Red", 0, 0),
        (("asked", "answered", "answered", "collected"), "Red", 0, 0),
        (("asked", "collected", "answered"), "Red", 0, 0),
        (("answered", "collected"), "Red", 0, 0),
        (("shown", "asked", "answered", "collected"), "Red", 0, 1),
        (("asked", "expired", "answered", "collected"), "Red", 0, 0),
        (("asked", "answered"), "Red", 0, 0),
        (("asked", "answered", "collected"), "Blue", 0, 0),
        (("asked", "answered", "collected"), "Red", 2, 0),
        (SOUND, "Red", 0, 0),
        (SOUND, "Red", 0, 2),
        (("asked", "shown", "shown", "answered", "collected"), "Red", 0, 1),
    ],
)
def test_the_oracle_sees_what_is_wrong(
    tmp_path: Path, steps: tuple[str, ...], given: str, told: int, shown: int
) -> None:
    (tmp_path / "q.told").write_text("told\n" * told)
    names = [f"message {number}" for number in range(shown)]
    with pytest.raises(BrokenError):
        checked(Told(tmp_path, ToldLog(*steps), ToldReceiver(*names)), given)


def test_the_oracle_sees_that_a_reader_was_told_something_twice(tmp_path: Path) -> None:
    there = Told(tmp_path, ToldLog(*SOUND), ToldReceiver("message"))
    there.log.events.insert(2, there.log.events[1])
    with pytest.raises(BrokenError):
        checked(there, "Red")


def test_the_oracle_has_nothing_to_say_of_a_sound_log(tmp_path: Path) -> None:
    checked(Told(tmp_path, ToldLog(*SOUND), ToldReceiver("message", "message")), "Red")
