"""What is done to a home behind the daemon's back, and what a restore must not undo."""

import os
import stat
import sys
import urllib.error
import urllib.request
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Program
from upcall.cli.client import Client
from upcall.domain.errors import UpcallError
from upcall.home.files import Home

pytestmark = pytest.mark.cold


def made(upcall: Program, name: str) -> str:
    """A new token's secret."""
    secret: str = upcall.json("tokens", "create", "--role", "person", "--name", name)["token"]
    return secret


def lose(home: Path, how: str) -> None:
    database = home / "upcall.db"
    for left in home.glob("upcall.db-*"):
        left.unlink()
    if how == "missing":
        database.unlink()
    else:
        database.write_bytes(b"")


@pytest.mark.promise("trust/35")
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_database_that_was_there_before_is_missed_and_can_be_restored(
    upcall: Program, tmp_path: Path, how: str
) -> None:
    ref, copy = upcall.parked("Kept?"), tmp_path / "copy.db"
    assert upcall("backup", str(copy)).returncode == 0
    upcall("down")
    lose(upcall.home, how)
    for _ in range(2):
        refused = upcall("status")
        assert refused.returncode == 1
        assert f"is {how}, and there was one before" in refused.stderr
        assert "upcall restore" in refused.stderr
    assert upcall("restore", str(copy)).returncode == 0
    assert [each["ref"] for each in upcall.json("status")["waiting"]] == [ref]


@pytest.mark.promise("trust/35")
def test_a_log_that_is_left_of_a_lost_database_is_not_dropped(upcall: Program) -> None:
    upcall.home.mkdir(mode=0o700)
    left = upcall.home / "upcall.db-wal"
    left.write_bytes(b"what was written last")
    refused = upcall("status")
    assert refused.returncode == 1
    assert "there was one before" in refused.stderr
    assert left.read_bytes() == b"what was written last"


@pytest.mark.promise("trust/35")
def test_who_wants_an_empty_database_is_told_what_to_remove(upcall: Program) -> None:
    upcall("status")
    upcall("down")
    lose(upcall.home, "missing")
    told = upcall("up")
    assert told.returncode == 1
    assert str(upcall.home / "databases") in told.stderr
    (upcall.home / "databases").unlink()
    assert upcall.json("status")["waiting"] == []


@pytest.mark.promise("trust/39")
def test_a_token_that_was_revoked_since_the_backup_stays_revoked(upcall: Program, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    secrets = {name: made(upcall, name) for name in ("ana", "ben")}
    assert upcall("backup", str(copy)).returncode == 0
    assert upcall("tokens", "revoke", "ana").returncode == 0
    later = made(upcall, "cid")
    upcall("down")
    restored = upcall("restore", str(copy))
    assert restored.returncode == 0, restored.stderr
    assert "Still revoked, as before the restore: ana" in restored.stdout
    upcall("status")

    def lets_in(secret: str) -> bool:
        running = Home(upcall.home).running()
        assert running is not None
        wanted = urllib.request.Request(f"{running.url}/v1/me", headers={"Authorization": f"Bearer {secret}"})
        try:
            with urllib.request.urlopen(wanted) as reply:
                return bool(reply.status == 200)
        except urllib.error.HTTPError as error:
            return error.code != 401

    assert not lets_in(secrets["ana"])
    assert lets_in(secrets["ben"])
    assert not lets_in(later)
    # What was made since is no revocation: it is back with the database that was there.
    upcall("down")
    assert upcall("restore", str(upcall.home / "upcall.db.before-restore")).returncode == 0
    upcall("status")
    assert lets_in(later)
    assert not lets_in(secrets["ana"])


@pytest.mark.promise("trust/40")
def test_files_that_others_can_get_at_are_made_private_when_the_daemon_starts(upcall: Program) -> None:
    upcall("status")
    upcall("down")
    names = ("owner.token", "agent.token", "upcall.db", "daemon.log", "port", "planted")
    (upcall.home / "planted").touch()
    for name in names:
        (upcall.home / name).chmod(0o666)
    upcall("status")
    modes = {name: stat.S_IMODE((upcall.home / name).stat().st_mode) for name in names}
    assert modes == dict.fromkeys(names, 0o600)


@pytest.mark.promise("trust/40")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused(upcall: Program) -> None:
    upcall.home.mkdir(mode=0o700)
    planted = upcall.home / "owner.token"
    planted.write_text("upcall_admin_0123456789012345678901234567890123456789\n")
    os.chown(planted, 12345, 12345)
    refused = upcall("status")
    assert refused.returncode == 1
    assert "belongs to another user" in refused.stderr


@pytest.mark.promise("trust/41")
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_the_log_is_no_way_to_write_to_another_file(upcall: Program, tmp_path: Path, kind: str) -> None:
    upcall.home.mkdir(mode=0o700)
    target, log = tmp_path / "precious", upcall.home / "daemon.log"
    target.write_text("precious")
    if kind == "link":
        log.symlink_to(target)
    elif kind == "hard link":
        log.hardlink_to(target)
    else:
        os.mkfifo(log)
    refused = upcall("status")
    assert refused.returncode == 1
    assert "it is not a file of its own" in refused.stderr
    assert target.read_text() == "precious"


@pytest.mark.promise("trust/38")
def test_a_run_that_is_started_again_under_its_key_is_the_same_run(upcall: Program, tmp_path: Path) -> None:
    upcall.home.mkdir(mode=0o700)
    (upcall.home / "upcall.toml").write_text(
        f'[agents.scripted]\nadapter = "command"\nstart = [{sys.executable!r}, "-c", "print(1)"]\n'
    )
    upcall("status")
    person = Client(home=Home(upcall.home))
    order = {"agent": "scripted", "task": "work", "cwd": str(tmp_path), "request_key": "k-1"}
    try:
        first, again = person.post("/v1/runs", order), person.post("/v1/runs", order)
        assert again["number"] == first["number"]
        assert [_status(upcall, {**order, "request_key": key}) for key in ("k-1", "k-3", "k-3")] == [
            200,
            201,
            200,
        ]
        with pytest.raises(UpcallError) as conflict:
            person.post("/v1/runs", {**order, "task": "something else"})
        assert "'k-1' was already used" in conflict.value.message
        assert person.post("/v1/runs", {**order, "request_key": "k-2"})["number"] != first["number"]
        assert len(person.get("/v1/runs")["items"]) == 3
    finally:
        person.hang_up()
    # Also after a restart.
    upcall("down")
    upcall("status")
    person = Client(home=Home(upcall.home))
    try:
        assert person.post("/v1/runs", order)["number"] == first["number"]
    finally:
        person.hang_up()


def _status(upcall: Program, order: dict[str, object]) -> int:
    """How the API answers a request to start a run."""
    home = Home(upcall.home)
    running = home.running()
    assert running is not None
    person = {"Authorization": f"Bearer {home.read_secret(home.owner_token_file)}"}
    return httpx2.post(f"{running.url}/v1/runs", json=order, headers=person, trust_env=False).status_code
