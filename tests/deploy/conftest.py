"""Two daemons, one database, and nginx before them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import nginx
from tests.cli.conftest import Program
from tests.conftest import require
from tests.postgres_server import PostgresServer
from upcall.home.files import Home
from upcall.home.instance import stop_running

NAMES = ("upcall-0", "upcall-1")


class Cluster:
    """The daemons by their names, and the address that people and agents use."""

    def __init__(self, folder: Path, database: str) -> None:
        self.daemons = {name: Program(folder / name) for name in NAMES}
        for name, program in self.daemons.items():
            program.environment |= {"UPCALL_DATABASE": database, "UPCALL_REPLICA": name}
            program.environment |= {"UPCALL_TOKEN_IN_PATH": "true"}
            self.start(name)
        self.proxy = nginx.Nginx([self.address(name).removeprefix("http://") for name in NAMES])
        self.url = self.proxy.url

    def start(self, name: str) -> None:
        """Have a daemon running, at the address that it has always had."""
        assert self.daemons[name]("status").returncode == 0

    def kill(self, name: str) -> None:
        """End a daemon the hard way, and wait until it is gone."""
        self.daemons[name].kill()
        stop_running(Home(self.daemons[name].home))

    def address(self, name: str) -> str:
        """Where a daemon itself is."""
        url: str = json.loads((self.daemons[name].home / "run.json").read_text())["url"]
        return url

    def token(self, kind: str, name: str = "upcall-0") -> str:
        """The owner's or the agents' credentials of a home."""
        return (self.daemons[name].home / f"{kind}.token").read_text().strip()

    def close(self) -> None:
        """Stop the proxy and the daemons."""
        self.proxy.close()
        for program in self.daemons.values():
            program("down")


@pytest.fixture(scope="module")
def cluster(running_postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all tests of a module; a test that kills a daemon starts it again."""
    require(nginx.program(), "nginx")
    folder = tmp_path_factory.mktemp("cluster")
    cluster = Cluster(folder, running_postgres.database(folder))
    yield cluster
    cluster.close()
