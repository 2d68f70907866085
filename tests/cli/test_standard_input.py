"""Standard input of `upcall ask` is its context, and never what it waits for."""

import os
import socket
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cli.conftest import TIMEOUT, Program

ASK = ("ask", "Apply this?", "--timeout", "0")


def asked_with(
    upcall: Program, *words: str, stdin: int | IO[Any] | None, close: bool = False
) -> tuple[int, str]:
    """Ask without waiting for an answer, with that as standard input; how it ended, and what it said."""
    command = upcall.command(words or ASK)
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command] if close else command,
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        env=upcall.environment,
        cwd=upcall.home.parent,
    )
    return done.returncode, done.stderr


def latest(upcall: Program) -> Any:
    return upcall.json("status")["waiting"][-1]


@pytest.mark.promise("doorway/15")
def test_what_is_piped_in_is_the_context(upcall: Program) -> None:
    assert upcall(*ASK, stdin="--- a\n+++ b\n").returncode == 12
    assert latest(upcall)["context"] == "--- a\n+++ b\n"


@pytest.mark.promise("doorway/15")
def test_a_file_is_read_and_an_explicit_context_leaves_it_alone(upcall: Program, tmp_path: Path) -> None:
    (tmp_path / "diff").write_text("--- a\n")
    with (tmp_path / "diff").open() as file:
        asked_with(upcall, stdin=file)
    assert latest(upcall)["context"] == "--- a\n"
    with (tmp_path / "diff").open() as file:
        asked_with(upcall, "ask", "And this?", "--timeout", "0", "--context", "mine", stdin=file)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 0
    assert latest(upcall)["context"] == "mine"


@pytest.mark.promise("doorway/15")
@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal", "closed", "null"])
def test_an_input_that_is_silent_closed_or_a_terminal_does_not_hold_it_up(upcall: Program, kind: str) -> None:
    if kind == "closed":
        code, said = asked_with(upcall, stdin=None, close=True)
    elif kind == "null":
        code, said = asked_with(upcall, stdin=subprocess.DEVNULL)
    elif kind == "socket":
        ours, theirs = socket.socketpair()
        with ours, theirs:
            code, said = asked_with(upcall, stdin=theirs.fileno())
    else:
        ends = os.openpty() if kind == "terminal" else os.pipe()[::-1]
        code, said = asked_with(upcall, stdin=ends[1])
        for end in ends:
            os.close(end)
    assert code == 12, said
    assert latest(upcall)["context"] == ""
    assert ("open and silent" in said) is (kind in {"pipe", "socket"})


@pytest.mark.promise("doorway/15")
def test_a_long_input_is_attached_whole_and_one_without_end_is_refused(upcall: Program) -> None:
    whole = "".join(f"+ line {number} ä\n" for number in range(3000))
    assert upcall(*ASK, stdin=whole).returncode == 12
    inquiry = latest(upcall)
    assert inquiry["context"].startswith("+ line 0 ä\n")
    assert inquiry["context"].endswith("attached as standard-input.txt]")
    (attachment,) = inquiry["attachments"]
    assert (attachment["name"], attachment["size"]) == ("standard-input.txt", len(whole.encode()))
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        code, said = asked_with(upcall, stdin=endless.stdout)
        endless.kill()
    assert (code, "longer than 1048576 bytes" in said) == (2, True)
