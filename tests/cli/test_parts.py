"""The parts of the command line that need no daemon: help, errors, the wire, times and wording."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.cli.conftest import Program
from upcall import __version__
from upcall.cli.app import run
from upcall.cli.channel_adding import PassingStamps
from upcall.cli.command import load, parser_of
from upcall.cli.commands.service import launchd_agent, systemd_unit
from upcall.cli.failures import Unreachable, line
from upcall.cli.render.inquiries import answer_command
from upcall.cli.table import commands
from upcall.cli.wire import Wire
from upcall.domain.document import timestamp
from upcall.domain.errors import InvalidSetting
from upcall.domain.text.times import moment
from upcall.home.files import Home

HEAVY = {"asyncio", "email", "http.client", "pydantic", "shutil", "socket", "ssl", "starlette", "subprocess"}
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def a_server(*replies: bytes, close: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """Answers each request with the next reply, over one connection or over one each."""
    requests: list[bytes] = []

    def serve() -> None:
        connection, _ = listening.accept()
        for number, reply in enumerate(replies):
            if close and number:
                connection.close()
                connection, _ = listening.accept()
            requests.append(connection.recv(65536))
            connection.sendall(reply)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
        thread.join(10)


def exchanged(*replies: bytes, close: bool = False) -> list[tuple[int, bytes]]:
    with a_server(*replies, close=close) as (url, _):
        wire = Wire(url)
        answers = [wire.request("GET", "/", {}, timeout=10) for _ in replies]
        wire.close()
    return answers


def test_a_reply_is_read_by_its_length_in_chunks_or_to_the_end() -> None:
    by_length = OK + b"Content-Length: 2\r\n\r\nhi"
    in_chunks = OK + b"transfer-encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n"
    to_the_end = OK + b"\r\nhi"
    assert exchanged(by_length, in_chunks, to_the_end) == [(200, b"hi")] * 3
    assert exchanged(b"HTTP/1.1 204 No Content\r\n\r\n") == [(204, b"")]


def test_a_connection_closed_meanwhile_is_opened_again() -> None:
    reply = OK + b"Content-Length: 2\r\n\r\nhi"
    assert exchanged(reply, reply, reply, close=True) == [(200, b"hi")] * 3


@pytest.mark.parametrize(
    "reply", [b"SSH-2.0-x\r\n\r\n", OK + b"Content-Length: 5\r\n\r\nhi", OK + b"Content-Length: x\r\n\r\n"]
)
def test_what_is_not_a_whole_reply_is_unreachable(reply: bytes) -> None:
    with pytest.raises(Unreachable):
        exchanged(reply)


def test_requests_sent_together_are_one_write_and_answered_in_their_order() -> None:
    replies = b"".join(OK + b"Content-Length: 1\r\n\r\n" + digit for digit in (b"1", b"2", b"3"))
    with a_server(replies) as (url, requests):
        wire = Wire(url)
        answers = wire.get_each(["/a", "/b", "/c"], {"Authorization": "Bearer t"}, timeout=10)
        wire.close()
    assert answers == [(200, b"1"), (200, b"2"), (200, b"3")]
    asked = [line for line in requests[0].split(b"\r\n") if line.startswith(b"GET")]
    assert asked == [b"GET /a HTTP/1.1", b"GET /b HTTP/1.1", b"GET /c HTTP/1.1"]


def test_requests_sent_together_are_unreachable_if_one_reply_is_missing() -> None:
    with a_server(OK + b"Content-Length: 1\r\n\r\n1") as (url, _):
        wire = Wire(url)
        with pytest.raises(Unreachable):
            wire.get_each(["/a", "/b"], {}, timeout=10)


def test_a_request_carries_its_headers_and_its_body() -> None:
    with a_server(OK + b"Content-Length: 0\r\n\r\n") as (url, requests):
        wire = Wire(f"{url}/under/")
        wire.request("POST", "/v1/x", {"Authorization": "Bearer t"}, b"{}", timeout=10)
        wire.close()
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /under/v1/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Authorization: Bearer t" in head
    assert b"Content-Length: 2" in head
    assert body == b"{}"


@pytest.mark.parametrize("url", ["ftp://x", "http://", "://"])
def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    with pytest.raises(Unreachable, match="not an address"):
        Wire(url)


@given(st.integers(0, 253402300799999))
def test_moments_are_read_back_as_the_daemon_writes_them(milliseconds: int) -> None:
    at = milliseconds / 1000
    assert moment(timestamp(at)) == pytest.approx(at, abs=0.002)


def test_a_moment_without_a_fraction_is_read_too() -> None:
    assert moment("2030-01-31T09:00:00Z") == datetime(2030, 1, 31, 9, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("labels", "command"),
    [
        ([], 'upcall answer a7 "your answer"'),
        (["Redis"], 'upcall answer a7 "Redis"'),
        (["Redis (recommended)", "b"], 'upcall answer a7 "Redis (recommended)"'),
        (["$(reboot)", "b"], "upcall answer a7 1"),
        (["`x`"], "upcall answer a7 1"),
        (["--force"], "upcall answer a7 1"),
        (["it's", "2"], "upcall answer a7 'it'\"'\"'s'"),
        (["a\nb"], "upcall answer a7 1"),
        (['say "hi"!'], "upcall answer a7 1"),
    ],
)
def test_the_ready_made_command_is_safe_to_paste(labels: list[str], command: str) -> None:
    question = {"options": [{"label": label} for label in labels]}
    assert answer_command({"ref": "a7", "questions": [question], "secret": False}) == command
    assert answer_command({"ref": "a7", "questions": [question], "secret": True}) == "upcall answer a7"


def test_an_error_is_one_line_whatever_is_in_it() -> None:
    assert line("one\n  two\n", "three\nfour") == "upcall: one; two. Next: three four"
    assert line("Really?", None) == "upcall: Really?"


@pytest.mark.promise("spec/151")
@pytest.mark.parametrize("name", [name for name in commands() if name != "mcp"])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: upcall {name}" in shown
    assert parser_of(name, commands()[name], load(name)).description
    assert name == "version" or "examples:" in shown


def test_upcall_alone_lists_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Not the home of the person who runs the tests, in which a daemon may be at work.
    monkeypatch.setenv("UPCALL_HOME", str(tmp_path))
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in commands())


@pytest.mark.parametrize("words", [["--version"], ["version"], ["-V"]])
def test_the_version_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == f"upcall {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sttaus"], "did you mean `upcall status`?"),
        (["service"], "upcall service --help"),
        (["tokens", "create"], "upcall tokens create --help"),
        (["snooze", "a7", "later"], "upcall snooze --help"),
        (["show"], "upcall show --help"),
        (["status", "--jsno"], "upcall status --help"),
        (["mcp", "--ipc", "no such folder"], "mount it"),
        (["mcp", "--ipc"], "mount it"),
        (["mcp", "--wait", "long"], "upcall mcp --help"),
        (["mcp", "--wait"], "upcall mcp --help"),
        (["mcp", "serve"], "upcall mcp --help"),
    ],
)
def test_wrong_use_says_what_to_do_next(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    told = capsys.readouterr().err
    assert told.startswith("upcall: ")
    assert f" Next: {said}" in told or said in told.partition(" Next: ")[2]
    assert told.count("\n") == 1


def test_a_fault_of_ours_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> Any:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("upcall.cli.app.load", broken)
    assert run(["status"]) == 1
    assert capsys.readouterr().err.startswith(
        "upcall: this is a fault in Upcall itself: ZeroDivisionError: oops."
    )


@pytest.mark.promise("spec/150")
def test_mcp_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mcp", "--help"]) == 0
    assert "upcall mcp [--wait block|TIME] [--ipc DIR]" in capsys.readouterr().out


@pytest.mark.promise("doorway/8")
def test_service_files_survive_odd_paths() -> None:
    home = Home(Path('/home/a "b" %h $x'))
    unit = systemd_unit(home, "/opt/py thon", Path("/c"))
    assert 'ExecStart="/opt/py thon" "-P" "-m" "upcall" "up"' in unit.text
    assert 'Environment="UPCALL_HOME=/home/a \\"b\\" %%h $x"' in unit.text
    # Systemd takes the rest of this line as it is, except for %.
    assert '\nEnvironmentFile=-/home/a "b" %%h $x/upcall.env\n' in unit.text
    agent = launchd_agent(home, "/opt/py thon", Path("/l"))
    assert '<string>/home/a "b" %h $x</string>' in agent.text
    assert agent.path == Path("/l/LaunchAgents/upcall.daemon.plist")


def test_status_imports_nothing_heavy(shared: Program) -> None:
    shared("status")
    done = shared("status", PYTHONPROFILEIMPORTTIME="1")
    loaded = {entry.rpartition("|")[2].strip() for entry in done.stderr.splitlines()}
    assert "upcall.cli.render.inquiries" in loaded
    assert loaded & HEAVY == set()


def test_a_home_that_is_another_users_and_open_to_others_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume").chmod(0o775)

    def chmod(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path), mode)

    # The error for a user who is not the owner; root would succeed.
    monkeypatch.setattr(Path, "chmod", chmod)
    with pytest.raises(InvalidSetting, match="belongs to another user") as refused:
        Home(tmp_path / "volume").create()
    assert str(tmp_path / "volume" / "home") in str(refused.value.hint)
    Home(tmp_path / "volume" / "home").create()


def test_completion_offers_what_it_can_where_settings_or_daemon_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UPCALL_HOME", str(tmp_path))
    (tmp_path / "upcall.toml").write_text("ttl = 'soon'\n")
    assert run(["agents"]) == 0
    assert capsys.readouterr().out.split() == ["claude", "codex", "gemini", "opencode"]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("UPCALL_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("UPCALL_TOKEN", "upcall_agent_x")
    assert run(["refs"]) == 0
    assert capsys.readouterr() == ("", "")


async def test_a_check_knows_its_own_stamps_and_no_others() -> None:
    stamps, others = PassingStamps(), PassingStamps()
    stamp = await stamps.stamp("reply", "a7")
    assert await stamps.has_stamped("reply", "a7", stamp)
    assert not await stamps.has_stamped("reply", "b5", stamp)
    assert not await others.has_stamped("reply", "a7", stamp)
