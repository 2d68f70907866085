"""The files of one installation, and how its parts find each other.

Imported by the pipe and by every command, so it is kept to the cheapest part of the standard library.
"""

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from upcall import __version__

PIPE_PROTOCOL = 2
"""The version of what a pipe and a daemon say to each other; a newer daemon serves an older pipe."""

ACKNOWLEDGING = 2
"""The version since which a pipe says that its agent has taken an answer."""

SHORTEST_SECRET = 16
"""Characters that a secret has at least; ours have more than 40."""

SHAPING = ("UPCALL_PRESET", "UPCALL_TOOL_ALIASES", "UPCALL_LIMITS_")
"""Prefixes of the variables that change the list of tools."""


class Running(NamedTuple):
    """The running daemon, as its runtime file describes it. The token is ask-only."""

    pid: int
    url: str
    pipe_port: int
    token: str
    version: str


class Home:
    """The folder of one installation: everything in it is for its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def config_file(self) -> Path:
        """Settings, written by people."""
        return self.path / "upcall.toml"

    @property
    def secrets_file(self) -> Path:
        """The secrets of channels, written by `upcall channels add`."""
        return self.path / "secrets.toml"

    @property
    def environment_file(self) -> Path:
        """Variables that settings refer to as `$NAME`, and that the service has."""
        return self.path / "upcall.env"

    @property
    def database_file(self) -> Path:
        """The embedded store."""
        return self.path / "upcall.db"

    @property
    def known_databases_file(self) -> Path:
        """Which embedded stores there have been, so that one that is lost is missed."""
        return self.path / "databases"

    @property
    def runtime_file(self) -> Path:
        """Where the running daemon is; absent when none runs."""
        return self.path / "run.json"

    @property
    def lock_file(self) -> Path:
        """Held by the one daemon of this home."""
        return self.path / "daemon.lock"

    @property
    def start_lock_file(self) -> Path:
        """Held while a daemon comes up."""
        return self.path / "start.lock"

    @property
    def down_mark(self) -> Path:
        """Left by `upcall down`: pipes that were running then start nothing."""
        return self.path / "down"

    @property
    def port_file(self) -> Path:
        """The port first chosen, kept so that hooks stay valid."""
        return self.path / "port"

    @property
    def owner_token_file(self) -> Path:
        """The credentials of the person who owns this home."""
        return self.path / "owner.token"

    @property
    def agent_token_file(self) -> Path:
        """The ask-only credentials that local agents use."""
        return self.path / "agent.token"

    @property
    def log_file(self) -> Path:
        """The log of a daemon in the background."""
        return self.path / "daemon.log"

    @property
    def replies_file(self) -> Path:
        """The latest daemon's replies to `initialize` and `tools/list`, for pipes that are not connected yet."""
        return self.path / "replies.json"

    def reply_basis(self) -> list[object]:
        """What those replies depend on: the version, the file of settings as it is now, and variables."""
        try:
            found = self.config_file.stat()
        except OSError:
            settings = None
        else:
            settings = [found.st_mtime_ns, found.st_size]
        variables = sorted([name, value] for name, value in os.environ.items() if name.startswith(SHAPING))
        return [__version__, settings, variables]

    @property
    def ipc_folder(self) -> Path:
        """The folder for questions of containers without network, unless the settings name another one."""
        return self.path / "ipc"

    @property
    def answers_folder(self) -> Path:
        """Copies of the files of answers to sessions that are no runs, each in a folder of its inquiry."""
        return self.path / "answers"

    def answer_folder(self, inquiry: str, run: int | None) -> Path:
        """Where the files of an answer are copied to: beside the run that asked, if it is one of this machine."""
        own = self.path / "runs" / str(run)
        return (own if run is not None and own.is_dir() else self.path) / "answers" / inquiry

    def create(self) -> None:
        """Make the folder, or make it private again.

        Raises:
            InvalidSetting: if others can get at it, and that is not ours to change.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.stat().st_mode & 0o077:
            try:
                self.path.chmod(0o700)
            except PermissionError as error:
                from upcall.domain.errors import InvalidSetting  # noqa: PLC0415 - pipes import this module, and hardly any gets here

                raise InvalidSetting(
                    f"UPCALL_HOME: others can get at {str(self.path)!r}, and it belongs to another user",
                    hint=f"set UPCALL_HOME to a folder that is made inside it, such as {self.path / 'home'}",
                ) from error

    def write_private(self, path: Path, text: str) -> None:
        """Replace a file at once, readable by its owner only."""
        staged = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            # Renamed before its content is on disk, a file may be empty after a power cut.
            os.fsync(file.fileno())
        staged.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read_secret(self, path: Path) -> str:
        """The secret in a file of this home.

        Raises:
            InvalidSetting: if the file holds none that protects anything.
            OSError: if it cannot be read.
        """
        secret = path.read_bytes().decode("utf-8", "replace").strip()
        flaw = flaw_of(secret)
        if flaw:
            from upcall.domain.errors import InvalidSetting  # noqa: PLC0415 - pipes import this module, and read no secret

            raise InvalidSetting(
                f"{path}: the secret in it {flaw}",
                hint=f"delete the file and run `upcall up --replace`, which makes a new secret; where it is mounted, "
                f"mount one of at least {SHORTEST_SECRET} letters and digits",
            )
        return secret

    def running(self) -> Running | None:
        """The daemon that the runtime file tells of, if its process is alive."""
        try:
            told = json.loads(self.runtime_file.read_text())
            running = Running(**told)
            os.kill(running.pid, 0)
        except (OSError, ValueError, TypeError):
            return None
        return running

    def was_put_down_since(self, moment: float) -> bool:
        """Whether `upcall down` was run after that moment."""
        try:
            return self.down_mark.stat().st_mtime >= moment
        except OSError:
            return False


def flaw_of(secret: str) -> str:
    """Why a secret protects nothing; empty when there is no such reason."""
    if not secret:
        return "is empty"
    # Zero bytes are what some file systems leave of a file after a power cut.
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        return "has characters that are neither letters, digits nor punctuation"
    if len(secret) < SHORTEST_SECRET:
        return f"has {len(secret)} characters, and needs at least {SHORTEST_SECRET}"
    return ""


def default_home() -> Home:
    """`UPCALL_HOME`, or the platform's place for an application's data."""
    chosen = os.environ.get("UPCALL_HOME")
    if chosen:
        return Home(Path(chosen).expanduser())
    if sys.platform == "darwin":
        return Home(Path("~/Library/Application Support/upcall").expanduser())
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Home(Path(data).expanduser() / "upcall")
