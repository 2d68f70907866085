"""Starts `tests.warm.server` for the tests of one process, and says where it is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ADDRESS = "WARM_DAEMONS"
FOLDER = Path(__file__).parent


@contextmanager
def warm_daemons() -> Iterator[str]:
    """The address at which daemons are forked, for as long as the block runs."""
    with TemporaryDirectory(prefix="warm-") as folder:
        address = f"{folder}/socket"
        command = [sys.executable, "-m", "tests.warm.server", address]
        with subprocess.Popen(
            command, cwd=FOLDER.parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            if server.stdout.readline() != "ready\n":
                message = "the server of warm daemons did not start"
                raise RuntimeError(message)
            yield address
            server.communicate()


class WarmDaemons:
    """The server of this process, started with the first test that is to have warm daemons."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._address = ""
        self._before = os.environ.get("PYTHONPATH", "")

    def use(self) -> None:
        """Have commands that are started from now on fork their daemons."""
        self._address = self._address or self._open.enter_context(warm_daemons())
        os.environ[ADDRESS] = self._address
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FOLDER), self._before]))

    def leave(self) -> None:
        """Have them start their daemons by themselves."""
        if os.environ.pop(ADDRESS, None) is not None:
            os.environ["PYTHONPATH"] = self._before
            if not self._before:
                del os.environ["PYTHONPATH"]

    def close(self) -> None:
        """End the server; daemons that it forked go on."""
        self.leave()
        self._open.close()
