"""The folder of one run: what its process is started with, what it wrote, how it ended, and who keeps it.

Read and written by the daemon and by the keeper, a process of its own, so it needs only the standard library.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

SEGMENT_BYTES = 8 * 1024 * 1024
SEGMENTS = 8
"""How long one file of the output becomes, and how many of them are kept."""

_SEGMENT = "output-{:015d}.log"


class Start(NamedTuple):
    """What a keeper starts, and under which number of the run's starts."""

    number: int
    run: int
    argv: list[str]
    cwd: str
    environment: dict[str, str]
    stdin: str
    talking: bool
    token: str
    home: str
    orphan_grace: float
    kill_grace: float


class Exit(NamedTuple):
    """How a process ended: the code that it gave, or minus the signal that ended it."""

    number: int
    code: int


class RunFolder:
    """Everything in it is for the owner of the home only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the folder."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def remove(self) -> None:
        """Forget everything about the run that is not in the database."""
        shutil.rmtree(self.path, ignore_errors=True)

    def write_start(self, start: Start) -> None:
        """Leave what the next keeper needs."""
        self._write("start.json", start._asdict())

    def read_start(self) -> Start:
        """What to start."""
        return Start(**json.loads((self.path / "start.json").read_text()))

    def write_environment(self, environment: Mapping[str, str]) -> None:
        """Keep the environment that the run was given, for every process of it."""
        self._write("environment.json", dict(environment))

    def read_environment(self) -> dict[str, str] | None:
        """The environment that the run was given, if it was given one."""
        read: dict[str, str] | None = self._read("environment.json")
        return read

    def write_exit(self, ended: Exit) -> None:
        """Keep how a process ended."""
        self._write("exit.json", ended._asdict())

    def read_exit(self) -> Exit | None:
        """How the latest process ended."""
        read = self._read("exit.json")
        return None if read is None else Exit(**read)

    @contextmanager
    def kept(self) -> Iterator[bool]:
        """Hold the lock of the run's only process; False when somebody else has it."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            held = False
        try:
            yield held
        finally:
            os.close(descriptor)

    def is_kept(self) -> bool:
        """Whether a keeper, or a person who took the session over, is alive."""
        with self.kept() as free:
            return not free

    def claim_start(self, number: int) -> bool:
        """Take the right to start under this number; False when it, or a later one, was taken before.

        Only called while the lock is held.
        """
        fence = self.path / "fence"
        with suppress(FileNotFoundError, ValueError):
            if int(fence.read_text()) >= number:
                return False
        self._write("fence", number)
        return True

    def segments(self) -> list[tuple[int, Path]]:
        """The files of the output and where in it each begins, in order."""
        found = self.path.glob("output-*.log")
        return sorted((int(file.stem.removeprefix("output-")), file) for file in found)

    def segment(self, begins: int) -> Path:
        """The file of the output that begins there."""
        return self.path / _SEGMENT.format(begins)

    def read(self, after: int, limit: int = 1 << 20) -> tuple[int, bytes]:
        """Some of the output, and where that begins: later than asked where the beginning is gone."""
        for begins, file in self.segments():
            with suppress(FileNotFoundError):
                size = file.stat().st_size
                if after < begins + size:
                    after = max(after, begins)
                    with file.open("rb") as opened:
                        opened.seek(after - begins)
                        return after, opened.read(limit)
        return after, b""

    def size(self) -> int:
        """How much has been written since the beginning."""
        segments = self.segments()
        return segments[-1][0] + segments[-1][1].stat().st_size if segments else 0

    def _write(self, name: str, content: object) -> None:
        staged = self.path / f".{name}.{os.getpid()}"
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(self.path / name)

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text())
        except FileNotFoundError:
            return None


class Output:
    """Appends to the output of a run, and lets go of its beginning when it has become long."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.size = folder.size()
        segments = folder.segments()
        self._begins = segments[-1][0] if segments else 0
        self._file = folder.segment(self._begins).open("ab", buffering=0)
        folder.segment(self._begins).chmod(0o600)

    def append(self, data: bytes) -> None:
        """Add whole lines."""
        if self.size - self._begins >= SEGMENT_BYTES:
            self._turn_over()
        self._file.write(data)
        self.size += len(data)

    def close(self) -> None:
        """Let go."""
        self._file.close()

    def _turn_over(self) -> None:
        self._file.close()
        self._begins = self.size
        self._file = self._folder.segment(self._begins).open("ab", buffering=0)
        self._folder.segment(self._begins).chmod(0o600)
        for _, file in self._folder.segments()[:-SEGMENTS]:
            file.unlink(missing_ok=True)
