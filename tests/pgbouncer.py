"""A real PgBouncer before the tests' own PostgreSQL, in the mode that hands out a server for each transaction."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.postgres_server import PostgresServer

SETTINGS = """
[databases]
* = host={server} user=postgres
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
pidfile = {folder}/pid
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
log_connections = 0
log_disconnections = 0
"""


def program() -> str | None:
    """Where it is, if it is installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class PgBouncer:
    """One pooler. It refuses to be root, so root lends it to nobody."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.folder = Path(tempfile.mkdtemp(prefix="upcall-pool-"))
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server.folder, folder=self.folder))
        user = None
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody").pw_uid
            os.chown(self.folder, user, -1)
            os.chown(settings, user, -1)
        found = program()
        assert found is not None
        self._running = subprocess.Popen(
            [found, str(settings)], user=user, cwd=self.folder, stderr=subprocess.PIPE, text=True
        )
        # It says so once it listens.
        assert self._running.stderr is not None
        said = []
        while "process up" not in (line := self._running.stderr.readline()):
            said.append(line)
            if not line:
                raise RuntimeError("".join(said))

    def address(self, database: str) -> str:
        """The same database, reached through here."""
        return database.replace(str(self._server.folder), str(self.folder)) + "&port=6432"

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self._running.terminate()
        self._running.communicate()
        shutil.rmtree(self.folder)
