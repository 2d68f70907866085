"""`upcall up --detach` gives the terminal back, and `upcall url` says where the inbox is."""

import json
import os
import pty
import signal
import subprocess
from urllib.request import urlopen

import pytest

from tests.cli.conftest import TIMEOUT, Program

pytestmark = pytest.mark.cold


def pid_of(upcall: Program) -> int:
    return int(json.loads((upcall.home / "run.json").read_text())["pid"])


@pytest.mark.promise("doorway/13", "doorway/14")
def test_a_detached_daemon_answers_when_the_command_returns_and_outlives_it(upcall: Program) -> None:
    started = upcall("up", "-d")
    address = upcall("url").stdout.strip()

    assert started.returncode == 0, started.stderr
    assert f"is listening at {address}\n" in started.stdout
    with urlopen(f"{address}/healthz") as reply:
        assert reply.status == 200
    again = upcall("up", "--detach")
    assert (again.returncode, again.stdout) == (0, f"Upcall is already running at {address}\n")
    replaced = upcall("up", "--detach", "--replace")
    assert (replaced.returncode, upcall("url").stdout.strip()) == (0, address)


@pytest.mark.promise("doorway/13")
def test_a_detached_daemon_that_cannot_start_says_why(upcall: Program) -> None:
    failed = upcall("up", "-d", "--host", "192.0.2.1")

    assert failed.returncode == 1
    assert "cannot listen on 192.0.2.1" in failed.stderr
    mistaken = upcall("up", "-d", UPCALL_TTL="never")
    assert mistaken.returncode == 1
    assert mistaken.stderr.endswith(" Next: correct or unset UPCALL_TTL\n")
    refused = upcall("up", "--port", "99999")
    assert refused.returncode == 2
    assert "'99999' is not a port: 1 to 65535" in refused.stderr


@pytest.mark.promise("doorway/14")
def test_the_address_is_the_public_one_or_that_of_the_daemon_elsewhere(upcall: Program) -> None:
    public = upcall("url", UPCALL_PUBLIC_URL="https://upcall.example/")
    assert (public.returncode, public.stdout) == (0, "https://upcall.example\n")
    elsewhere = upcall("url", UPCALL_URL="https://far.example/", UPCALL_TOKEN="x")
    assert elsewhere.stdout == "https://far.example\n"
    assert not (upcall.home / "run.json").exists()


def test_a_daemon_in_a_terminal_ends_with_it_and_one_in_the_background_does_not(upcall: Program) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        upcall.command(("up",)),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=upcall.environment,
        # The terminal becomes its own, as that of a program that a person starts.
        preexec_fn=lambda: os.login_tty(theirs),  # noqa: PLW1509 - no other thread runs here
    )
    os.close(theirs)
    said = b""
    while b"is listening" not in said:
        said += os.read(ours, 1000)
    os.close(ours)
    assert process.wait(TIMEOUT) == 0
    assert upcall("up", "-d").returncode == 0
    pid = pid_of(upcall)
    os.kill(pid, signal.SIGHUP)
    assert upcall("status").returncode == 0
    assert pid_of(upcall) == pid
