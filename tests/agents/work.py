"""A program at work: what it has said so far, line by line, and how it ended."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from tests.agents.dialect import Json

PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A program that is no more."""

    code: int
    events: list[Json]
    complaints: str


class Work:
    """A process that tells what it does in lines of JSON."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._news = threading.Condition()
        self._lines: list[str] = []
        self._complaints: list[str] = []
        self._open = 2
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=streams, daemon=True)
            for streams in ((process.stdout, self._lines), (process.stderr, self._complaints))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process, which leads its group."""
        return self._process.pid

    @property
    def lines(self) -> list[str]:
        """What it has written so far, line by line."""
        return list(self._lines)

    @property
    def events(self) -> list[Json]:
        """The same, read."""
        return [json.loads(line) for line in self.lines]

    @property
    def ended(self) -> bool:
        """Whether it has closed its mouth for good."""
        return not self._open

    def wait_for(self, wanted: Callable[[Json], object]) -> Json:
        """The first event that is `wanted`, once there is one."""
        with self._news:
            self._news.wait_for(lambda: self.ended or any(map(wanted, self.events)), PATIENCE)
        found = next(filter(wanted, self.events), None)
        assert found is not None, self.report()
        return found

    def end(self) -> int:
        """Wait for its end."""
        with self._news:
            assert self._news.wait_for(lambda: self.ended, PATIENCE), self.report()
        return self._process.wait(PATIENCE)

    def finish(self) -> Finished:
        """Wait for its end."""
        code = self.end()
        return Finished(code=code, events=self.events, complaints="".join(self._complaints))

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it and everything that it has started."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return  # it was faster

    def close(self) -> None:
        """Leave nothing behind."""
        self.kill()
        self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def report(self) -> str:
        """Everything it said, for the message of a failed test."""
        said = "".join([*self._lines, *self._complaints])
        return f"{self._process.args!r} ended with {self._process.poll()}, and said:\n{said}"

    def _read(self, stream: "IO[str]", into: list[str]) -> None:
        for line in stream:
            with self._news:
                into.append(line)
                self._news.notify_all()
        with self._news:
            self._open -= 1
            self._news.notify_all()
