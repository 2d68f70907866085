"""A Docker daemon of its own in a folder, with images that Debian's packages take the place of.

No registry of images is asked. A Debian that mmdebstrap makes stands for the official one, leaves out the same files, and
knows the certificates of this machine.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMAGES = Path(__file__).with_name("images")
DEBIAN = "debian:trixie-slim"
NEEDED = ("docker", "dockerd", "mmdebstrap")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# What the official slim images leave out.
LEFT_OUT = ("doc", "man", "info", "locale", "lintian")


def lacking() -> str:
    """What this machine lacks to run containers; nothing is the empty string."""
    if os.geteuid():
        return "root"
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        return ", ".join(missing)
    compose = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True)
    if compose.returncode:
        return "Compose 2, a plugin of Docker"
    # Two of them would share a bridge and the rules of the firewall.
    return "a machine where no other Docker daemon runs" if Path("/var/run/docker.pid").exists() else ""


@contextmanager
def docker(folder: Path) -> Iterator[dict[str, str]]:
    """Run a Docker daemon; gives the environment in which `docker` speaks to it."""
    socket = folder / "docker.sock"
    # A process without CAP_SYS_RESOURCE may lower neither its own score nor raise the limits of a container.
    own = [
        *(
            "--data-root",
            str(folder / "data"),
            "--exec-root",
            str(folder / "exec"),
            "--host",
            f"unix://{socket}",
        ),
        *(
            "--pidfile",
            str(folder / "pid"),
            "--oom-score-adjust",
            "0",
            "--default-ulimit",
            "nofile=4096:4096",
        ),
    ]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(["dockerd", *own], stdout=log, stderr=log)
    environment = os.environ | {"DOCKER_HOST": f"unix://{socket}"}
    try:
        # It writes a line to its log once it listens; asking is simpler than following that.
        while not _answers(environment):
            assert daemon.poll() is None, (folder / "log").read_text()
        yield environment
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def _answers(environment: dict[str, str]) -> bool:
    asked = subprocess.run(["docker", "version"], check=False, capture_output=True, env=environment)
    return asked.returncode == 0


def debian(folder: Path, environment: dict[str, str]) -> None:
    """Make the image that all others are built on."""
    archive = folder / "debian.tar"
    without = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEFT_OUT]
    known = f"--customize-hook=copy-in {CERTIFICATES} {Path(CERTIFICATES).parent}"
    make = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", *without, known]
    subprocess.run([*make, DEBIAN.partition(":")[2].removesuffix("-slim"), str(archive)], check=True)
    told = ["--change", "ENV UV_SYSTEM_CERTS=1"]
    subprocess.run(["docker", "import", *told, str(archive), DEBIAN], check=True, env=environment)
    archive.unlink()


def stand_ins(environment: dict[str, str]) -> None:
    """Build the images of PostgreSQL and nginx."""
    file = str(IMAGES / "compose.yaml")
    subprocess.run(["docker", "compose", "--file", file, "build"], check=True, env=environment)
