"""Builds the image of `deploy/Dockerfile` and tries it: `make image-check`, as root on Linux, with Buildah and mmdebstrap.

It takes minutes, so it is no part of `make test`. No registry of images is asked: a Debian made from its packages stands in
for the official image of Python, and knows the certificates of this machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("buildah", "mmdebstrap", "unshare", "ip")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
USER = "10001"
LARGEST = 80_000_000
"""Bytes that the image may add to its base."""
SECONDS = 120

# A container by hand: namespaces of its own, a root that is only read, no capabilities, and what the image says to run.
CONTAINER = r"""
set -eu
root=$1 volume=$2
ip link set lo up
mount --bind "$root" "$root"
mount --bind "$volume" "$root/var/lib/upcall"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
inside() {
    exec chroot "$root" /usr/bin/setpriv --reuid "$USER" --regid "$USER" --clear-groups --bounding-set=-all --inh-caps=-all \
        --no-new-privs "$@"
}
# Root itself may not: the daemon could not write there anyway.
if chroot "$root" touch /opt/written 2>/dev/null; then echo "The root can be written."; exit 1; fi
inside "$PROGRAM" up &
daemon=$!
until (inside "$PYTHON" -c "$HEALTH" 2>"$volume/last"); do
    kill -0 "$daemon" || { cat "$volume/last"; exit 1; }
done
(inside "$PYTHON" -c "import urllib.request as r; print('/healthz', r.urlopen('http://127.0.0.1:8427/healthz').status)")
grep -E '^(Uid|CapEff):' "$root/proc/$daemon/status"
kill -TERM "$daemon"
wait "$daemon"
"""


class Images:
    """A store of images of its own in a folder."""

    def __init__(self, folder: Path) -> None:
        self._buildah = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run")]

    def __call__(self, *arguments: str) -> str:
        """Run Buildah; what it says on its way is shown."""
        done = subprocess.run([*self._buildah, *arguments], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def base(self, archive: Path) -> str:
        """A Debian with Python, where pip and uv find what they need."""
        packages = "--include=python3,python3-venv,ca-certificates"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", packages, "bookworm", archive], check=True)
        container = self("from", "scratch")
        self("add", "--quiet", container, str(archive), "/")
        self("copy", "--quiet", container, CERTIFICATES, CERTIFICATES)
        self("config", "--env", "UV_SYSTEM_CERTS=1", container)
        self("commit", "--quiet", "--rm", container, "debian-with-python")
        return "localhost/debian-with-python"

    def build(self, base: str) -> dict[str, Any]:
        """Build the image; returns its settings."""
        # The format of OCI has no health checks.
        how = ["--format", "docker", "--isolation", "chroot", "--pull-never", "--build-arg", f"PYTHON={base}"]
        self("bud", *how, "-f", str(ROOT / "deploy/Dockerfile"), "-t", "upcall", str(ROOT))
        settings: dict[str, Any] = json.loads(self("inspect", "--type", "image", "upcall"))["Docker"][
            "config"
        ]
        return settings


def problems(settings: dict[str, Any], root: Path, volume: Path) -> list[str]:
    """What is wrong with an image that is mounted at a folder."""
    found: list[str] = []
    if settings["User"] != USER:
        found.append(f"it runs as {settings['User'] or 'root'}")
    size = sum(path.lstat().st_size for path in (root / "opt/upcall").rglob("*") if not path.is_dir())
    sys.stdout.write(f"The image adds {size / 1e6:.1f} MB to its base.\n")
    if size > LARGEST:
        found.append(f"it adds more than {LARGEST / 1e6:.0f} MB")
    kind, python, flag, health = settings["Healthcheck"]["Test"]
    assert (kind, python, flag, settings["Cmd"]) == ("CMD", "python", "-c", ["up"])
    environment = dict(each.split("=", 1) for each in settings["Env"])
    environment |= {"USER": USER, "HEALTH": health, "PYTHON": "/opt/upcall/bin/python"}
    environment["PROGRAM"] = f"/opt/upcall/bin/{settings['Entrypoint'][0]}"
    environment["PATH"] += ":/usr/sbin:/sbin"
    container = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        CONTAINER,
        "sh",
    ]
    try:
        subprocess.run([*container, str(root), str(volume)], env=environment, check=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        found.append(f"it was not healthy, or did not end, within {SECONDS} seconds")
    except subprocess.CalledProcessError as error:
        found.append(f"its container ended with {error.returncode}")
    return found


def main() -> int:
    """Build it, try it, and say what is wrong."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.geteuid():
        sys.stderr.write(f"make image-check needs root, and on PATH: {', '.join(missing or NEEDED)}.\n")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="upcall-image-"))
    images = Images(folder)
    try:
        settings = images.build(images.base(folder / "base.tar"))
        container = images("from", "--pull-never", "localhost/upcall")
        (volume := folder / "volume").mkdir()
        # As a cluster hands it out: it belongs to root, and to a group of the daemon's.
        os.chown(volume, 0, int(USER))
        volume.chmod(0o770)
        folder.chmod(0o755)
        found = problems(settings, Path(images("mount", container)), volume)
    finally:
        # Buildah leaves the folder of its layers mounted on itself.
        subprocess.run(["umount", "--recursive", str(folder / "store/overlay")], check=False)
        shutil.rmtree(folder)
    for problem in found:
        sys.stderr.write(f"The image is wrong: {problem}.\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
