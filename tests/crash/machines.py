"""Machines that are network namespaces, each at the end of a cable that can be pulled; and disks that can be filled.

All of it is made inside the namespaces of a lane, so the kernel removes it with the last process there, however that ends.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

ALONE = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
)
"""Runs a command with a network, mounts and processes of its own, which all end with it, or with the process that runs this."""

DISK = "24m"


def can_be_alone() -> bool:
    """Whether this machine lets us make namespaces and mounts."""
    if os.geteuid() != 0:
        return False
    try:
        probe = "ip link set lo up && mount -t tmpfs none /mnt"
        return subprocess.run([*ALONE, "sh", "-c", probe], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Machine:
    """Another machine: `here` is our address on the cable to it, and `there` its own."""

    def __init__(self, number: int) -> None:
        self.here, self.there = f"10.77.{number}.1", f"10.77.{number}.2"
        self._cable = f"cable{number}"
        self._is_pulled = Lock()
        # What holds the namespace says so as soon as it is in there.
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        self._holder.stdout.readline()
        inner = f"{self._cable}x"
        _ip("link", "add", self._cable, "type", "veth", "peer", inner, "netns", str(self._holder.pid))
        for command in (
            ("address", "add", f"{self.here}/24", "dev", self._cable),
            ("link", "set", self._cable, "up"),
        ):
            _ip(*command)
        for command in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{self.there}/24", "dev", inner),
            ("link", "set", inner, "up"),
        ):
            _ip(*command, before=self.command)

    @property
    def command(self) -> tuple[str, ...]:
        """What runs a command there."""
        return ("nsenter", f"--net=/proc/{self._holder.pid}/ns/net")

    def cut(self, seconds: float) -> None:
        """Nothing comes or goes for a while."""
        with self._is_pulled:
            _ip("link", "set", self._cable, "down")
            try:
                time.sleep(seconds)
            finally:
                _ip("link", "set", self._cable, "up")

    def end(self) -> None:
        """Remove it; what runs there loses its network."""
        self._holder.kill()
        with self._holder:
            pass


def wake_loopback() -> None:
    """A new network begins with nothing that works."""
    _ip("link", "set", "lo", "up")


def _ip(*words: str, before: Sequence[str] = ()) -> None:
    subprocess.run([*before, "ip", *words], check=True, stdin=subprocess.DEVNULL)


class Disk:
    """A small disk in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_full = Lock()
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "none", folder], check=True)

    def fill(self, seconds: float) -> None:
        """There is no room left for a while."""
        filler = self._folder / "filler"
        with self._is_full:
            try:
                with suppress(OSError), filler.open("wb", buffering=0) as file:
                    while True:
                        file.write(bytes(65_536))
                time.sleep(seconds)
            finally:
                filler.unlink(missing_ok=True)

    def end(self) -> None:
        """Take it away."""
        subprocess.run(["umount", "--lazy", self._folder], check=True)
