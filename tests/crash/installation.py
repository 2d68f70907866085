"""An installation of real processes that can be killed, stopped and starved: daemons, pipes, runs, and their database."""

import json
import secrets
import shutil
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from tests.crash.log import PATIENCE, Json, Log, StuckError
from tests.crash.machines import Disk, Machine
from tests.crash.receiver import Receiver
from tests.postgres_server import PostgresServer
from tests.warm.jumping_clock import AHEAD
from upcall.cli.client import Client, inquiry_path
from upcall.domain.errors import UpcallError
from upcall.home.files import Home, Running
from upcall.home.instance import stop_running
from upcall.testing.agent import StdioAgent

PROGRAM = Path(__file__).resolve().with_name("program.py")
SETTINGS = """
host = {host}
database = {database}

[runs]
limit = 20

[agents.scripted]
adapter = "command"
start = [{python}, "-I", "-S", {script}, {folder}, "start", "{{task}}"]
resume = [{python}, "-I", "-S", {script}, {folder}, "resume", "{{session}}", "{{message}}"]
session_pattern = "session: (\\\\S+)"
marker = "ASK"
"""
AGENT = (sys.executable, "-m", "upcall", "mcp", "--wait", "block")


@dataclass(slots=True)
class Surroundings:
    """What the installations of a lane share; without namespaces there is no machine but this one."""

    server: PostgresServer | None = None
    database: Machine | None = None
    agents: Machine | None = None
    restarting: Lock = field(default_factory=Lock)
    """Held by the fault that has the database down or halted."""


class Installation:
    """One daemon on a SQLite file, or two on a PostgreSQL database; each has a machine with a clock of its own."""

    def __init__(self, folder: Path, seed: str, around: Surroundings, database: str = "") -> None:
        self.folder = folder
        self.around = around
        self.database = database
        self.disk = Disk(folder / "homes") if around.agents is not None else None
        self.receiver = Receiver()
        self.homes = [
            Home(folder / "homes" / name) for name in (("here", "there") if database else ("here",))
        ]
        host = "127.0.0.1" if around.agents is None else around.agents.here
        settings = SETTINGS.format(
            host=json.dumps(host),
            database=json.dumps(database),
            python=json.dumps(sys.executable),
            script=json.dumps(str(PROGRAM)),
            folder=json.dumps(str(folder)),
        )
        # One person at all daemons: with a token for each home, what was sent to one and repeated at another would be of two people.
        owner = f"upcall_admin_{secrets.token_urlsafe(32)}\n"
        for home in self.homes:
            home.create()
            home.write_private(home.owner_token_file, owner)
            (home.path / "upcall.toml").write_text(settings + self.receiver.settings)
            self.clock(home).write_bytes(AHEAD.pack(0.0))
        self.clocks = Lock()
        """Held by the fault that has set a clock."""
        self.handed: dict[int, str] = {}
        """The inquiry of which the agent of a slot got the answer last."""
        self._chance = Random(seed)
        self._agents: dict[int, StdioAgent] = {}
        self._token = ""
        self.log: Log

    def start(self) -> None:
        """Start the daemons."""
        for home in self.homes:
            self._running(home)
        if self.around.agents is not None:
            made = self.request("POST", "/v1/tokens", {"name": "elsewhere", "role": "agent"})
            self._token = made["token"]
        self.log = Log(lambda path: self.request("GET", path))

    def end(self) -> None:
        """End everything."""
        if hasattr(self, "log"):
            self.log.end()
        for agent in self._agents.values():
            agent.close()
        for home in self.homes:
            stop_running(home)
        self.receiver.end()
        if self.disk is not None:
            self.disk.end()

    def keep(self, folder: Path) -> None:
        """Copy what tells what happened."""
        folder.mkdir(parents=True, exist_ok=True)
        for home in self.homes:
            with suppress(FileNotFoundError):
                shutil.copy(home.log_file, folder / f"{home.path.name}.log")
        if hasattr(self, "log"):
            lines = [json.dumps(event) + "\n" for event in self.log.events]
            (folder / "events").write_text("".join(lines))
        for told in [*self.folder.glob("*.told"), *self.folder.glob("*.pid")]:
            shutil.copy(told, folder)

    def clock(self, home: Home) -> Path:
        """The clock of the machine that a home is on."""
        return home.path.with_name(f"{home.path.name}.clock")

    def home_of(self, slot: int) -> Home:
        """Where the agent of a slot is at home."""
        return self.homes[slot % len(self.homes)]

    def is_elsewhere(self, slot: int) -> bool:
        """Whether the agent of a slot is on another machine."""
        return self.around.agents is not None and slot % 3 == 2

    def pipe(self, slot: int) -> StdioAgent | None:
        """The agent of a slot, if it lives."""
        return self._agents.get(slot)

    def agent(self, slot: int) -> StdioAgent:
        """The agent of a slot, behind its pipe; a new one if that was killed."""
        if slot not in self._agents:
            home = self.home_of(slot)
            machine = self.around.agents
            if machine is not None and self.is_elsewhere(slot):
                url = self._running(home).url
                environment = {"UPCALL_HOME": "", "UPCALL_URL": url, "UPCALL_TOKEN": self._token}
                self._agents[slot] = StdioAgent((*machine.command, *AGENT), environment=environment)
            else:
                self._agents[slot] = StdioAgent(AGENT, environment={"UPCALL_HOME": str(home.path)})
        return self._agents[slot]

    def forget_agent(self, slot: int) -> None:
        """Give up an agent that was killed, if it ever came up."""
        agent = self._agents.pop(slot, None)
        if agent is None:
            return
        with suppress(BrokenPipeError):
            agent.close()
        # What could not be flushed is given up, and the process is reaped.
        agent.close()

    def _running(self, home: Home) -> Running:
        """The daemon of a home, started again and again until it comes up: a fault may be in its way."""
        while True:
            self.request("GET", "/v1/events?limit=1", at=home)
            if running := home.running():
                return running

    def request(self, method: str, path: str, body: Json | None = None, *, at: Home | None = None) -> Any:
        """Send a request as a person, again and again until a daemon has replied."""
        deadline = time.monotonic() + PATIENCE
        while True:
            client = Client(home=at or self._chance.choice(self.homes))
            try:
                return client.call(method, path, body)
            except UpcallError as problem:
                if time.monotonic() > deadline:
                    raise StuckError(f"{method} {path}: {problem}") from problem
                threading.Event().wait(0.1)
            finally:
                client.hang_up()

    def answer(self, name: str, choice: str, key: str) -> Json:
        """Answer, until that is certain; the same key makes it one answer."""
        settled: Json = self.request(
            "POST", inquiry_path(name, "answer"), {"answers": [[choice]], "key": key}
        )
        return settled
