"""What a candidate needs beside its agents: a daemon, a server, a database, or nothing. The parent starts and kills it."""

import os
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Protocol
from urllib.request import ProxyHandler, build_opener

from benchmarks.bench import ROOT, environment
from benchmarks.daemon import Daemon
from benchmarks.peers.harness import Json
from tests.postgres_server import PostgresServer

PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"
"""The interpreter that has the packages of others; `make bench ARGS=peers` makes it."""

PATIENCE = 60.0


class Server(Protocol):
    """Something that runs beside the agents, or the absence of it."""

    killable: bool
    """Whether there is a process of the candidate's own to kill."""

    def start(self) -> Json:
        """Start it; where agents and person find it."""
        ...

    def pids(self) -> list[int]:
        """Processes whose memory belongs to the candidate."""
        ...

    def kill(self) -> None:
        """End it with SIGKILL."""

    def stop(self) -> None:
        """End it properly, if it runs."""


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


class UpcallDaemon:
    """A real daemon in a scratch home."""

    killable = True

    def __init__(self, folder: Path) -> None:
        self._daemon = Daemon(folder / "home")

    def start(self) -> Json:
        self._daemon.start()
        return {
            "home": str(self._daemon.home.path),
            "url": f"http://{self._daemon.address}",
            "agent": self._daemon.agent,
            "person": self._daemon.person,
        }

    def pids(self) -> list[int]:
        return [self._daemon.pid]

    def kill(self) -> None:
        os.kill(self._daemon.pid, signal.SIGKILL)
        self._daemon.stop()

    def stop(self) -> None:
        self._daemon.stop()


class AwaithumansServer:
    """`awaithumans serve` on SQLite, its default storage."""

    killable = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._token, self._key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Json:
        command = [
            str(PYTHON.parent / "awaithumans"),
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self._port),
        ]
        url = f"http://127.0.0.1:{self._port}"
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--log-level", "warning"],
                cwd=self._folder,
                env=environment(
                    HOME=str(self._folder),
                    AWAITHUMANS_DB_PATH=str(self._folder / "awaithumans.db"),
                    AWAITHUMANS_PAYLOAD_KEY=self._key,
                    AWAITHUMANS_ADMIN_API_TOKEN=self._token,
                    AWAITHUMANS_PUBLIC_URL=url,
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(f"{url}/api/health")
        return {"url": url, "token": self._token}

    def pids(self) -> list[int]:
        return [] if self._process is None else [self._process.pid]

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """It keeps nothing that a proper end would save, and holds on to calls that wait."""
        self.kill()


class Postgres:
    """A database of its own in a server that all turns share: not the candidate's, so it is not killed."""

    killable = False

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self._folder = folder
        self._server = server

    def start(self) -> Json:
        return {"database": self._server.database(self._folder)}

    def pids(self) -> list[int]:
        return self._server.processes()

    def kill(self) -> None:
        """Not the candidate's own."""

    def stop(self) -> None:
        """It is stopped with the last candidate."""


class File:
    """No process, only a file: an address made from its path, and a port for what a candidate leaves to its users."""

    killable = False

    def __init__(self, folder: Path, address: str = "{path}") -> None:
        path = folder / "candidate.db"
        self._place = {
            "database": address.format(path=path),
            "folder": str(folder),
            "answer_port": free_port(),
            "web_port": free_port(),
        }

    def start(self) -> Json:
        return self._place

    def pids(self) -> list[int]:
        return []

    def kill(self) -> None:
        """There is nothing to kill."""

    def stop(self) -> None:
        """There is nothing to stop."""


def wait_for(url: str) -> None:
    """Return once a server answers.

    Raises:
        TimeoutError: if it does not.
    """
    opener, end = build_opener(ProxyHandler({})), time.monotonic() + PATIENCE
    while True:
        try:
            with opener.open(url, timeout=5):
                return
        except OSError as problem:
            if time.monotonic() > end:
                raise TimeoutError(f"{url} did not answer: {problem}") from problem
            time.sleep(0.05)
