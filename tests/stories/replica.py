"""A daemon among several on one database that can be halted, woken and killed; its log is read as it is written."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

from upcall.cli.client import Client
from upcall.home.files import Home

ROOT = Path(__file__).parent.parent.parent
LEASE = float(os.environ.get("UPCALL_TEST_LEASE", "5"))
"""Seconds that every lease lasts in these tests; with 0, as long as in the product, which takes minutes."""

SECONDS = 150.0
Admin = psycopg.Connection[tuple[Any, ...]]


class Replica:
    """One daemon in a home of its own."""

    def __init__(self, folder: Path, database: str, *, clock: float = 0.0, **variables: str) -> None:
        self.home = Home(folder)
        self.home.create()
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("UPCALL_")
        }
        self._environment |= {"LEASE": str(LEASE), "CLOCK": str(clock), "UPCALL_HOME": str(folder)}
        self._environment |= {"UPCALL_DATABASE": database, **variables}
        self._process: subprocess.Popen[str] | None = None
        self._reading: threading.Thread | None = None
        self._lines: list[str] = []
        self._more = threading.Condition()
        self.person = Client(home=self.home)

    def start(self) -> None:
        """Start, and return when it can be reached."""
        command = [sys.executable, "-m", "tests.stories.odd_daemon", "up"]
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=both,
            text=True,
        )
        self._process = process
        # Once is enough.
        self._environment.pop("HALT", None)
        seen = len(self._lines)
        self._reading = threading.Thread(target=self._read, args=(process,))
        self._reading.start()
        self.says("is listening at", after=seen)

    def says(self, words: str, *, after: int = 0) -> None:
        """Wait until a line of its log has these words."""
        deadline = time.monotonic() + SECONDS
        with self._more:
            while not any(words in line for line in self._lines[after:]):
                if not self._more.wait(deadline - time.monotonic()):
                    raise AssertionError(f"it never said {words!r} but {''.join(self._lines)}")

    @property
    def log(self) -> str:
        """All that it has said so far."""
        return "".join(self._lines)

    def halt(self) -> None:
        """Stop it without its knowing, as a machine does that hangs."""
        self._signal(signal.SIGSTOP)

    def halt_between_transactions(self) -> None:
        """Halt it while it holds no lock: the others would have to wait until the database ends its transaction."""
        at_work = """
            SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)
        """
        deadline = time.monotonic() + SECONDS
        with psycopg.connect(self._environment["UPCALL_DATABASE"], autocommit=True) as admin:
            while True:
                self.halt()
                self.wait_until_halted()
                if admin.execute(at_work).fetchone() == (False,):
                    return
                self.go_on()
                assert time.monotonic() < deadline, "it is never without a transaction"

    def wait_until_halted(self) -> None:
        """Wait until it has halted."""
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def halted(self) -> list[tuple[str, int]]:
        """Wait until it has halted itself; returns what is held then, with its fence."""
        self.wait_until_halted()
        with psycopg.connect(self._environment["UPCALL_DATABASE"], autocommit=True) as admin:
            return _held(admin)

    def go_on(self) -> None:
        """Wake it."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it the hard way, and wait until it is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.person.hang_up()

    def end(self) -> None:
        """Wake and stop it, in any state."""
        self.person.hang_up()
        if self._process is not None and self._process.poll() is None:
            self.go_on()
            self._process.terminate()
            self._process.wait(SECONDS)
        if self._reading is not None:
            self._reading.join()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                with self._more:
                    self._lines.append(line)
                    self._more.notify_all()


def wait_until_shown(database: str) -> None:
    """Wait until a question was shown, and nothing is left to be done about it for the moment."""
    rest = """
        SELECT EXISTS (SELECT FROM upcall.event WHERE type = 'shown')
            AND NOT EXISTS (SELECT FROM upcall.job WHERE kind LIKE 'show:%' OR kind LIKE 'refresh:%')
    """
    deadline = time.monotonic() + SECONDS
    with psycopg.connect(database, autocommit=True) as admin:
        while admin.execute(rest).fetchone() != (True,):
            admin.execute("SELECT pg_sleep(0.02)")
            assert time.monotonic() < deadline, f"it never came to that: {_held(admin)}"


def all_over(database: str, held: list[tuple[str, int]]) -> bool:
    """Whether every lease of these has ended: another daemon has claimed the job since, or could claim it."""
    with psycopg.connect(database, autocommit=True) as admin:
        return not set(held) & set(_held(admin))


def wait_until_over(database: str, held: list[tuple[str, int]]) -> None:
    """Wait, by the database's clock, until these leases have ended."""
    ends = "SELECT pg_sleep_until(to_timestamp(max(due))) FROM upcall.job WHERE id = ANY(%s)"
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(ends, ([name for name, _ in held],))


def _held(admin: Admin) -> list[tuple[str, int]]:
    held = admin.execute("SELECT id, fence FROM upcall.job WHERE due > extract(epoch FROM clock_timestamp())")
    return [(str(name), int(fence)) for name, fence in held.fetchall()]
