"""A real Matrix homeserver for the tests: Synapse, in an environment of its own, without other users."""

import base64
import hashlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

ENVIRONMENT = Path(sys.prefix) / "synapse"
SECONDS = 60.0
SERVER = "localhost"
PASSWORD = "a password"
PLENTY = {"per_second": 10_000, "burst_count": 10_000}


def installed() -> Path | None:
    """The interpreter that has Synapse, if there is one."""
    python = ENVIRONMENT / "bin" / "python"
    return python if (ENVIRONMENT / ".installed").exists() and python.exists() else None


class Synapse:
    """One homeserver on a free port of this machine."""

    def __init__(self, python: Path, *, limited: bool = False) -> None:
        self._python = python
        self._limited = limited
        self._folder = tempfile.TemporaryDirectory(prefix="upcall-synapse-")
        self._secret = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        folder = Path(self._folder.name)
        settings = folder / "homeserver.yaml"
        # JSON is YAML too.
        settings.write_text(json.dumps(self._settings(folder)))
        command = [str(self._python), "-m", "synapse.app.homeserver", "--config-path", str(settings)]
        seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
        (folder / "signing.key").write_text(f"ed25519 a_test {seed}\n")
        with (
            (folder / "output").open("wb") as output,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready,
        ):
            # It says when it is ready, as it would to systemd.
            ready.bind(str(folder / "ready"))
            ready.settimeout(SECONDS)
            environment = os.environ | {"NOTIFY_SOCKET": str(folder / "ready")}
            self._process = subprocess.Popen(
                command, cwd=folder, stdout=output, stderr=output, env=environment
            )
            said = b""
            while b"READY=1" not in said:
                said = ready.recv(4096)

    def stop(self) -> None:
        """Stop it, and leave nothing behind."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()

    def account(self, name: str) -> tuple[str, str]:
        """A new account: its id and a token."""
        path = "/_synapse/admin/v1/register"
        nonce = self.call("GET", path)["nonce"]
        parts = [nonce, name, PASSWORD, "notadmin"]
        mac = hmac.new(self._secret.encode(), "\0".join(parts).encode(), hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": PASSWORD, "admin": False, "mac": mac}
        made = self.call("POST", path, body)
        return str(made["user_id"]), str(made["access_token"])

    def call(self, method: str, path: str, body: object = None, token: str = "") -> dict[str, Any]:
        """What the server says."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            read: dict[str, Any] = json.load(answer)
            return read

    def _settings(self, folder: Path) -> dict[str, Any]:
        return {
            "server_name": SERVER,
            "listeners": [
                {
                    "port": self._port,
                    "type": "http",
                    "bind_addresses": ["127.0.0.1"],
                    "resources": [{"names": ["client"]}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
            "media_store_path": str(folder / "media"),
            "signing_key_path": str(folder / "signing.key"),
            "report_stats": False,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "presence": {"enabled": False},
            "registration_shared_secret": self._secret,
            "macaroon_secret_key": self._secret,
            "form_secret": self._secret,
            "bcrypt_rounds": 4,
            # Without a word about it, Synapse takes ten messages at once and then one in five seconds.
            **({} if self._limited else {"rc_message": PLENTY}),
            "rc_registration": PLENTY,
            "rc_joins": {"local": PLENTY, "remote": PLENTY},
            "rc_invites": {"per_room": PLENTY, "per_user": PLENTY, "per_issuer": PLENTY},
            "rc_room_creation": PLENTY,
        }
