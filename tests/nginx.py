"""A real nginx with the settings that we hand out, led to daemons of the test's own."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SETTINGS = Path(__file__).parent.parent / "deploy" / "nginx.conf"


def program() -> str | None:
    """Where it is, if it is installed."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class Nginx:
    """One proxy. `daemons` are the addresses, such as 127.0.0.1:1234, of those that the settings call upcall-0, upcall-1 …"""

    def __init__(self, daemons: Sequence[str]) -> None:
        found = program()
        assert found is not None
        self.folder = Path(tempfile.mkdtemp(prefix="upcall-nginx-"))
        # As root it works for nobody, who has to get in.
        self.folder.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        settings = SETTINGS.read_text().replace("listen 8080;", f"listen {self.url.removeprefix('http://')};")
        for number, address in enumerate(daemons):
            settings = settings.replace(f"upcall-{number}:8427", address)
        # It says when it listens, if it may.
        settings = settings.replace("error_log stderr warn;", "error_log stderr notice;")
        written = self.folder / "nginx.conf"
        written.write_text(re.sub(r"(?<= )/tmp/", f"{self.folder}/", settings))
        self._running = subprocess.Popen(
            [found, "-p", str(self.folder), "-c", str(written), "-g", "daemon off;"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._running.stderr is not None
        said = []
        while "start worker process " not in (line := self._running.stderr.readline()):
            said.append(line)
            if not line:
                raise RuntimeError("".join(said))

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self._running.terminate()
        self._running.communicate()
        shutil.rmtree(self.folder)
