"""The files with the two secrets of a home: what is in them decides who is let in, so an unfit one lets in no caller."""

import json
import os
import sqlite3
import stat
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from upcall.access.tokens import digest
from upcall.home.files import Home

UNFIT = {
    "empty": b"",
    "blank": b" \n\n",
    "short": b"letmein\n",
    "zeros": bytes(64),
    "not_text": b"\xff\xfe" * 20,
}


def status_of(url: str, **headers: str) -> int:
    request = urllib.request.Request(f"{url}/v1/me", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.promise("trust/13")
@pytest.mark.parametrize("file", ["owner.token", "agent.token"])
@pytest.mark.parametrize("content", UNFIT.values(), ids=UNFIT.keys())
def test_a_daemon_with_an_unfit_secret_does_not_start_and_says_what_to_do(
    upcall: Program, file: str, content: bytes
) -> None:
    upcall.home.mkdir(mode=0o700)
    (upcall.home / file).write_bytes(content)
    done = upcall("up")
    assert done.returncode != 0
    assert str(upcall.home / file) in done.stderr
    assert "upcall up --replace" in done.stderr
    assert not (upcall.home / "run.json").exists()


@pytest.mark.promise("trust/13")
def test_a_secret_that_both_files_hold_is_refused(upcall: Program) -> None:
    upcall.home.mkdir(mode=0o700)
    for file in ("owner.token", "agent.token"):
        (upcall.home / file).write_text("one-and-the-same-secret\n")
    done = upcall("up")
    assert done.returncode != 0
    assert str(upcall.home / "agent.token") in done.stderr


@pytest.mark.promise("trust/13")
def test_a_database_that_knows_the_digest_of_nothing_lets_in_no_caller(upcall: Program) -> None:
    assert upcall("status").returncode == 0
    upcall("down")
    with closing(sqlite3.connect(upcall.home / "upcall.db")) as db:
        # What an earlier version kept of an empty file.
        db.execute("INSERT INTO token VALUES ('mounted', 'admin', ?, 0)", (digest(""),))
        db.commit()
    assert upcall("status").returncode == 0
    url = json.loads((upcall.home / "run.json").read_text())["url"]
    assert status_of(url) == 401
    assert status_of(url, Authorization="Bearer ") == 401
    assert status_of(url, Authorization="Basic x") == 401


def test_commands_name_the_file_whose_secret_was_lost_under_a_running_daemon(upcall: Program) -> None:
    assert upcall("status").returncode == 0
    (upcall.home / "owner.token").write_text("")
    done = upcall("status")
    assert done.returncode != 0
    assert str(upcall.home / "owner.token") in done.stderr
    assert str(upcall.home / "owner.token") in upcall("doctor").stdout


@pytest.mark.promise("trust/13")
def test_a_secret_that_was_deleted_is_made_anew(upcall: Program) -> None:
    assert upcall("status").returncode == 0
    before = (upcall.home / "owner.token").read_text()
    upcall("down")
    (upcall.home / "owner.token").unlink()
    assert upcall("status").returncode == 0
    assert (upcall.home / "owner.token").read_text() != before


@pytest.mark.promise("trust/14")
def test_a_secret_is_on_disk_before_its_name_is_and_its_name_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    synced: list[tuple[str, bool]] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        found = os.fstat(descriptor)
        what = f"{found.st_size} bytes" if stat.S_ISREG(found.st_mode) else "folder"
        synced.append((what, home.owner_token_file.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    home.write_private(home.owner_token_file, "a secret\n")
    assert synced == [("9 bytes", False), ("folder", True)]
    assert home.owner_token_file.read_text() == "a secret\n"
