"""A daemon with a group, and agents in containers that share nothing with it but the group's folder."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.conftest import require
from tests.doors.agent import Agent
from tests.files.door import Served, serving
from tests.stories.conftest import Json, Scene
from upcall.home.files import Home
from upcall.home.instance import stop_running

CONTAINER = """
set -e
mount --bind "$1" "$2"
mount -t tmpfs none "$3"
cd /
shift 3
exec "$@"
"""
"""The group's folder is mounted, and the daemon's home is out of sight."""

SEPARATIONS = (["unshare", "--net", "--mount"], ["unshare", "--map-root-user", "--net", "--mount"])


def separation() -> Sequence[str] | None:
    """How a process gets a network and mounts of its own here, if it can."""
    for command in SEPARATIONS:
        try:
            tried = subprocess.run(
                [*command, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
            )
        except FileNotFoundError:
            return None
        if tried.returncode == 0:
            return command
    return None


class Yard(Scene):
    """A home with a daemon, a group called `build`, and containers."""

    def __init__(self, home: Home, threads: ThreadPoolExecutor, mount: Path, stack: ExitStack) -> None:
        super().__init__(home, threads)
        self.group = home.ipc_folder / "build"
        self._mount = mount
        self._stack = stack

    def container(self, *arguments: str, **environ: str) -> Agent:
        """An agent in a container of its own."""
        return self._stack.enter_context(
            contained(
                [sys.executable, "-m", "upcall", "mcp", "--ipc", str(self._mount), *arguments], self, environ
            )
        )

    def inside(self, command: Sequence[str]) -> list[str]:
        """A command as it is started in a container."""
        how = separation()
        require(how, "unshare with namespaces for network and mounts")
        assert how is not None
        where = [str(self.group), str(self._mount), str(self.home.path)]
        return [*how, "sh", "-c", CONTAINER, "container", *where, *command]

    def happened(self, kind: str) -> Json:
        """The first event of that kind, once there is one."""
        after = 0
        while True:
            for event in self.person.get("/v1/events", patience=30, after=after, wait=30)["items"]:
                after = event["seq"]
                if event["type"] == kind:
                    found: Json = event
                    return found

    def files(self) -> list[str]:
        """Every file of the group that is about a request."""
        return sorted(
            f"{folder}/{path.name}"
            for folder in ("tasks", "taken", "responses", "staging", "quarantine")
            for path in (self.group / folder).glob("*")
        )


@contextmanager
def contained(command: Sequence[str], yard: Yard, environ: dict[str, str]) -> Iterator[Agent]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UPCALL_", "CLAUDE"))}
    process = subprocess.Popen(
        yard.inside(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=kept | environ
    )
    try:
        yield Agent(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    """A daemon that is up, with a group."""
    for name in ("UPCALL_URL", "UPCALL_TOKEN", "UPCALL_FILES_ROOTS", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path / "home")
    monkeypatch.setenv("UPCALL_HOME", str(home.path))
    mount = tmp_path / "ipc"
    mount.mkdir()
    with ThreadPoolExecutor(4) as threads, ExitStack() as stack:
        yard = Yard(home, threads, mount, stack)
        yard.group.mkdir(parents=True)
        yard.daemon()
        try:
            yield yard
        finally:
            yard.end()
            stop_running(home)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A group that is served in the test's own loop."""
    async with serving(tmp_path) as served:
        yield served
