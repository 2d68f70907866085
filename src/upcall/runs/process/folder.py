"""The folder of one run: what its process is started with, what it wrote, how it ended, and who keeps it.

Read and written by the daemon and by the keeper, a process of its own, so it needs only the standard library.
"""

import fcntl
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

SEGMENT_BYTES = 8 * 1024 * 1024
SEGMENTS = 8
"""How long one file of the output becomes, and how many of them are kept."""

MOST_HELD = 16 * 1024 * 1024
"""How many bytes of output are kept in memory while there is no room for them; what comes after that is lost."""

OUTPUT, ERRORS, NOTICED = "output", "errors", "noticed"
"""What a process writes to its standard output, and to its standard error; and what was noticed of one that serves a protocol
elsewhere, written by the daemon."""


class Start(NamedTuple):
    """What a keeper starts, and under which number of the run's starts. Its output begins at `begins` of the run's."""

    number: int
    run: int
    argv: list[str]
    cwd: str
    environment: dict[str, str]
    stdin: str
    talking: bool
    token: str
    home: str
    begins: int
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

    def write_start(self, start: Start) -> None:
        """Leave what the next keeper needs."""
        self._write("start.json", start._asdict())

    def read_start(self) -> Start:
        """What to start."""
        return Start(**json.loads((self.path / "start.json").read_text()))

    def write_token(self, secret: str) -> None:
        """Keep the run's own token, which every process of it gets."""
        self._write("token", secret)

    def token(self) -> str:
        """The run's own token."""
        read: str = json.loads((self.path / "token").read_text())
        return read

    def write_environment(self, environment: Mapping[str, str]) -> None:
        """Keep the environment that the run was given, for every process of it."""
        self._write("environment.json", dict(environment))

    def read_environment(self) -> dict[str, str] | None:
        """The environment that the run was given, if it was given one."""
        read: dict[str, str] | None = self._read("environment.json")
        return read

    def write_arguments(self, arguments: Sequence[str]) -> None:
        """Keep flags of the program that only its processes are given, and that no list of runs shows."""
        self._write("arguments.json", list(arguments))

    def read_arguments(self) -> tuple[str, ...]:
        """The flags that were kept."""
        return tuple(self._read("arguments.json") or ())

    def forget_start(self) -> None:
        """Remove what the latest keeper was given, once its process has ended: variables, words and the token."""
        (self.path / "start.json").unlink(missing_ok=True)

    def forget_environment(self) -> None:
        """Remove the variables and flags that the run was given."""
        for name in ("environment.json", "arguments.json"):
            (self.path / name).unlink(missing_ok=True)

    def write_input(self, told: Mapping[str, object]) -> None:
        """Keep what the process was told, for a daemon that goes on with it."""
        self._write("told.json", told)

    def read_input(self) -> dict[str, object] | None:
        """What a process was told, if one ever was."""
        read: dict[str, object] | None = self._read("told.json")
        return read

    def write_state(self, state: Mapping[str, object]) -> None:
        """Write how the run stands, for programs that read files."""
        self._write("state.json", state)

    def write_exit(self, ended: Exit) -> None:
        """Keep how a process ended."""
        self._write("exit.json", ended._asdict())

    def read_exit(self) -> Exit | None:
        """How the latest process ended."""
        read = self._read("exit.json")
        return None if read is None else Exit(**read)

    @contextmanager
    def locked(self) -> Iterator[int | None]:
        """Hold the lock of the run's only process, by this descriptor; None when another process has it.

        A child that is given the descriptor has the lock too: if we are killed, it is free when the child has ended.
        """
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            yield None
            return
        try:
            yield descriptor
        finally:
            # A process that the child has left behind may still have it, and is not at work in the session.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def is_locked(self) -> bool:
        """Whether a keeper, or a person who took the session over, is alive."""
        if not self.path.exists():
            return False
        with self.locked() as lock:
            return lock is None

    def claim_start(self, number: int) -> bool:
        """Take the right to start under this number; False when it, or a later one, was taken before.

        Only called while the lock is held.
        """
        if self.latest_start() >= number:
            return False
        self._write("fence", number)
        return True

    def latest_start(self) -> int:
        """The number of the latest start that was really made; 0 when there was none."""
        read: int | None = self._read("fence")
        return read or 0

    def segments(self, stream: str = OUTPUT) -> list[tuple[int, Path]]:
        """The files of a stream and where in it each begins, in order."""
        found = self.path.glob(f"{stream}-*.log")
        return sorted((int(file.stem.removeprefix(f"{stream}-")), file) for file in found)

    def segment(self, begins: int, stream: str = OUTPUT) -> Path:
        """The file of a stream that begins there."""
        return self.path / f"{stream}-{begins:015d}.log"

    def read(self, after: int, stream: str = OUTPUT, limit: int = 1 << 20) -> tuple[int, bytes]:
        """Some of a stream, and where that begins: later than asked where the beginning is gone."""
        for begins, file in self.segments(stream):
            with suppress(FileNotFoundError):
                size = file.stat().st_size
                if after < begins + size:
                    after = max(after, begins)
                    with file.open("rb") as opened:
                        opened.seek(after - begins)
                        return after, opened.read(limit)
        return after, b""

    def read_lines(self, after: int, stream: str = OUTPUT, *, cut: bool = False) -> tuple[int, bytes]:
        """Some whole lines of a stream; with `cut`, also an unfinished one at the end of the stream."""
        limit = 1 << 20
        begins, data = self.read(after, stream, limit)
        while b"\n" not in data and len(data) == limit:
            limit *= 4
            begins, data = self.read(after, stream, limit)
        whole, newline, rest = data.rpartition(b"\n")
        return begins, rest if cut and not newline else whole + newline

    def last_lines(self, most: int, stream: str = OUTPUT) -> tuple[bytes, int]:
        """The whole lines among the last bytes of a stream, and where they end."""
        size = self.size(stream)
        begins, data = self.read(max(size - most, 0), stream, most)
        while more := self.read(begins + len(data), stream, most)[1]:
            data += more
        if begins > 0:
            # The first of them has most likely begun earlier.
            cut, newline, rest = data.partition(b"\n")
            begins, data = (begins + len(cut) + 1, rest) if newline else (begins + len(data), b"")
        whole, newline, _ = data.rpartition(b"\n")
        return whole + newline, begins + len(whole) + len(newline)

    def size(self, stream: str = OUTPUT) -> int:
        """How much has been written since the beginning."""
        segments = self.segments(stream)
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
    """Appends to a stream of a run, and lets go of its beginning when it has become long."""

    def __init__(self, folder: RunFolder, stream: str = OUTPUT) -> None:
        self._folder = folder
        self._stream = stream
        self.size = folder.size(stream)
        segments = folder.segments(stream)
        self._begins = segments[-1][0] if segments else 0
        self._file = self._open(self._begins)
        self._held = b""

    def append(self, data: bytes) -> None:
        """Add whole lines, after those that there was no room for before.

        Raises:
            OSError: if there is no room now; the lines are kept for the next time, unless they are too many.
        """
        lines = self._held + data
        try:
            if self.size - self._begins >= SEGMENT_BYTES:
                self._turn_over()
            self._write_all(lines)
        except OSError:
            if len(lines) <= MOST_HELD:
                self._held = lines
            raise
        self._held = b""

    def _write_all(self, lines: bytes) -> None:
        written = 0
        try:
            while written < len(lines):
                written += self._file.write(lines[written:])
        except OSError:
            if written:
                # No reader gets half a line: the rest comes with the next ones.
                self._file.truncate(self.size - self._begins)
            raise
        self.size += len(lines)

    def close(self) -> None:
        """Let go."""
        self._file.close()

    def _turn_over(self) -> None:
        # On a full disk there is no next file: then this one stays open, and the next lines try again.
        full, self._file, self._begins = self._file, self._open(self.size), self.size
        full.close()
        for _, file in self._folder.segments(self._stream)[:-SEGMENTS]:
            file.unlink(missing_ok=True)

    def _open(self, begins: int) -> io.FileIO:
        path = self._folder.segment(begins, self._stream)
        return io.FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "w")
