"""A real Dovecot with a mailbox for every name, and certificates that only tests trust."""

import datetime as dt
import imaplib
import ipaddress
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PASSWORD = "test"
CONFIG = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
auth_username_format = %Ln
first_valid_uid = 1
mail_uid = {user}
mail_gid = {group}
mail_location = maildir:{folder}/mail/%n
{unprivileged}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/mail/%n allow_all_users=yes
}}
service imap-login {{
  {chroot}
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
    ssl = yes
  }}
}}
service anvil {{
  {chroot}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dovecot:
    """Where it is."""

    imap: int
    imaps: int
    ca_file: Path
    key_file: Path

    def deliver(self, letter: bytes, to: str) -> None:
        """Put a letter into the mailbox of an address; a tag behind its plus sign does not change the mailbox."""
        user = to.partition("@")[0].partition("+")[0]
        with imaplib.IMAP4("127.0.0.1", self.imap) as imap:
            imap.login(user, PASSWORD)
            said, _ = imap.append("INBOX", None, None, letter)
            assert said == "OK"


def program() -> str | None:
    """Where Dovecot is installed."""
    return shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextmanager
def running() -> Iterator[Dovecot]:
    """A server in a folder of its own, until it is left."""
    found = program()
    assert found is not None
    # Not in pytest's folder, which is closed to other users: another user writes the letters.
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    folder.chmod(0o755)
    user = pwd.getpwuid(os.getuid()) if os.getuid() else pwd.getpwnam("nobody")
    (folder / "mail").mkdir()
    os.chown(folder / "mail", user.pw_uid, user.pw_gid)
    certify(folder)
    ports = _free_ports(2)
    ordinary = os.getuid() != 0
    config = CONFIG.format(
        folder=folder,
        user=user.pw_uid,
        group=user.pw_gid,
        password=PASSWORD,
        imap=ports[0],
        imaps=ports[1],
        unprivileged=f"default_internal_user = {user.pw_name}\ndefault_login_user = {user.pw_name}"
        if ordinary
        else "",
        chroot="chroot =" if ordinary else "",
    )
    (folder / "dovecot.conf").write_text(config)
    process = subprocess.Popen(
        [found, "-F", "-c", str(folder / "dovecot.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for port in ports:
            _wait_for(port, process, folder / "log")
        yield Dovecot(
            imap=ports[0],
            imaps=ports[1],
            ca_file=folder / "cert.pem",
            key_file=folder / "key.pem",
        )
    finally:
        process.terminate()
        process.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)


def certify(folder: Path) -> None:
    """A certificate for 127.0.0.1 that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(log.read_text() if log.exists() else "Dovecot does not start")
