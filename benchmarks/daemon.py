"""A real daemon in a scratch home, as a child process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from benchmarks.bench import ROOT, environment
from upcall.home.files import Home

UNHURRIED = {
    "UPCALL_RATES_PER_SECOND": "1000000",
    "UPCALL_RATES_BURST": "1000000",
    "UPCALL_BLOCK_TIMEOUT": "3600",
    "UPCALL_LOG_LEVEL": "warning",
}
"""Settings under which neither pace nor patience gets in the way."""


class Daemon:
    """Started by `with`, or by `start`, which returns the seconds until it accepted connections."""

    def __init__(self, folder: Path, *, database: str = "") -> None:
        self.home = Home(folder)
        self._settings = UNHURRIED | ({"UPCALL_DATABASE": database} if database else {})
        self._process: subprocess.Popen[bytes] | None = None
        self.host, self.port, self.pipe_port = "", 0, 0
        self.agent, self.person = "", ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> str:
        """What the `Host` header says."""
        return f"{self.host}:{self.port}"

    def start(self) -> float:
        """Start it; returns the seconds until it was ready."""
        self.home.create()
        ready, said = os.pipe()
        with self.home.log_file.open("ab") as log:
            began = time.perf_counter()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "upcall", "up", "--ready-fd", str(said)],
                cwd=ROOT,
                env=environment(UPCALL_HOME=str(self.home.path), **self._settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(said,),
            )
        os.close(said)
        with os.fdopen(ready, "r") as words:
            verdict = words.readline().strip()
        took = time.perf_counter() - began
        if verdict != "ready":
            raise ChildProcessError(f"the daemon did not start: {verdict} (see {self.home.log_file})")
        self._look_around()
        return took

    def start_and_stop(self) -> float:
        """Leave a home in which a daemon has been; returns the seconds until that was ready."""
        took = self.start()
        self.stop()
        return took

    def stop(self) -> None:
        """End it as `upcall down` would."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _look_around(self) -> None:
        running = json.loads(self.home.runtime_file.read_text(encoding="utf-8"))
        parts = urlsplit(running["url"])
        assert parts.hostname is not None
        assert parts.port is not None
        self.host, self.port, self.pipe_port = parts.hostname, parts.port, running["pipe_port"]
        self.agent = running["token"]
        self.person = self.home.owner_token_file.read_text(encoding="utf-8").strip()
