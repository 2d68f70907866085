"""Links to the inbox, as the command line hands them out."""

import json
import os
import pty
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.cli.conftest import TIMEOUT, Program


def opened(link: str) -> tuple[int, str]:
    """What a browser is shown."""
    try:
        with urllib.request.urlopen(link, timeout=TIMEOUT) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def said_to_a_terminal(program: Program, *words: str, until: bytes) -> tuple[str, subprocess.Popen[bytes]]:
    """What a command prints where a person reads it, up to some words."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        program.command(words),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=program.environment | {"BROWSER": "true"},
    )
    os.close(theirs)
    told = b""
    while until not in told:
        told += os.read(ours, 4096)
    os.close(ours)
    return told.decode(), running


def test_inbox_prints_a_link_and_nothing_else(upcall: Program) -> None:
    done = upcall("inbox")
    assert (done.returncode, done.stderr) == (0, "")
    status, page = opened(done.stdout.strip())
    assert status == 200
    assert "Continue as" in page
    assert upcall.json("inbox")["expires_in"] == 600


@pytest.mark.promise("spec/146")
def test_up_prints_a_link_in_a_terminal(upcall: Program) -> None:
    said, daemon = said_to_a_terminal(upcall, "up", until=b"upcall answer")
    link = next(word for word in said.split() if "/sign-in?code=" in word)
    assert opened(link)[0] == 200
    upcall("down")
    daemon.wait(TIMEOUT)


def test_up_prints_no_link_where_nobody_may_be_reading(upcall: Program) -> None:
    daemon = upcall.start("up")
    assert daemon.stdout is not None
    said = [daemon.stdout.readline() for _ in range(3)]
    assert not any("code=" in line for line in said)
    assert any("upcall inbox" in line for line in said)
    upcall("down")
    daemon.communicate(timeout=TIMEOUT)


def test_a_link_is_in_no_log_and_in_no_file_of_the_home(upcall: Program) -> None:
    upcall.home.mkdir()
    (upcall.home / "upcall.toml").write_text('log_level = "debug"\n')
    link = upcall.json("inbox")["url"]
    code = link.partition("code=")[2]
    opened(link)
    upcall("down")
    assert [
        path for path in upcall.home.iterdir() if path.is_file() and code.encode() in path.read_bytes()
    ] == []


@pytest.mark.promise("spec/129")
def test_a_link_follows_the_public_address(upcall: Program) -> None:
    upcall.home.mkdir()
    (upcall.home / "upcall.toml").write_text('public_url = "https://upcall.example/"\n')
    assert json.loads(upcall("inbox", "--json").stdout)["url"].startswith(
        "https://upcall.example/sign-in?code="
    )
