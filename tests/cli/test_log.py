"""The daemon's log: no caller writes a line of its own into it, and none reaches a reader's terminal through it."""

import json
import logging
import re
import socket
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from upcall.daemon.log_format import JsonFormatter, SafeFormatter, escaped

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ [a-zA-Z_.]+: .*")
FORGED = "2027-01-01 00:00:00,000 INFO upcall.broker: root approved everything"
HOSTILE = f"x\n{FORGED}\r\x1b[2J\x1b]0;owned\x07\u202e\u2028\x9b31m\x00\ud800"


def formatted(message: str, *values: object, error: BaseException | None = None) -> str:
    told = (type(error), error, error.__traceback__) if error is not None else None
    record = logging.LogRecord("upcall.test", logging.WARNING, __file__, 1, message, values, told)
    return SafeFormatter().format(record)


@pytest.mark.promise("trust/31")
def test_what_a_caller_sent_stays_on_the_line_of_its_event() -> None:
    line = formatted("refused: %s", HOSTILE)
    assert LINE.fullmatch(line)
    assert line.isprintable()
    assert "\\n2027-01-01" in line
    assert "\\x1b[2J" in line


@pytest.mark.promise("trust/31")
def test_an_exception_that_quotes_a_caller_forges_no_line() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        first, *rest = formatted("could not be served", error=error).split("\n")
    assert LINE.fullmatch(first)
    assert rest
    assert all(line.startswith("    | ") and line.isprintable() for line in rest)
    assert any(FORGED in line for line in rest)


@pytest.mark.promise("doorway/32")
def test_a_line_of_json_has_its_time_zone_and_the_whole_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        told = (type(error), error, error.__traceback__)
        record = logging.LogRecord(
            "upcall.test", logging.WARNING, __file__, 1, "refused: %s", (HOSTILE,), told
        )
    line = JsonFormatter().format(record)
    monkeypatch.undo()
    time.tzset()
    assert line.isascii()
    assert line.isprintable()
    fields = json.loads(line)
    moment = datetime.fromisoformat(fields["time"])
    assert moment.utcoffset() == timedelta(hours=5, minutes=45)
    assert moment.timestamp() == pytest.approx(record.created, abs=0.001)
    assert (fields["level"], fields["logger"]) == ("warning", "upcall.test")
    assert fields["message"] == f"refused: {HOSTILE}"
    assert fields["exception"].startswith("Traceback")


@pytest.mark.promise("doorway/32")
def test_a_daemon_writes_json_where_the_setting_says_so(upcall: Program) -> None:
    upcall.environment["UPCALL_LOG_FORMAT"] = "json"
    assert upcall("status").returncode == 0
    assert upcall("down").returncode == 0
    lines = [json.loads(line) for line in (upcall.home / "daemon.log").read_text().splitlines()]
    assert any(line["message"].startswith("listening at") for line in lines)
    assert all(datetime.fromisoformat(line["time"]).utcoffset() is not None for line in lines)


def test_ordinary_text_is_written_as_it_is() -> None:
    assert escaped("¿Qué caché? 缓存 🧊 — ok") == "¿Qué caché? 缓存 🧊 — ok"


@pytest.mark.promise("trust/31")
def test_every_line_of_a_daemons_log_is_its_own(upcall: Program) -> None:
    assert upcall("status").returncode == 0
    port = int((upcall.home / "port").read_text())
    hostile = HOSTILE.encode("utf-8", "replace")
    group = upcall.home / "ipc" / "build"
    group.mkdir()
    for sent in (
        b"GET /\x1b[2J HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + hostile + b"\r\n\r\n",
        hostile + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    (upcall.home / "ipc" / f"no group\n{FORGED}").mkdir()
    assert upcall("status").returncode == 0
    upcall("down")
    log = (upcall.home / "daemon.log").read_text()
    assert log
    for line in log.splitlines():
        assert line.startswith("    | ") or LINE.fullmatch(line), line
        assert line.isprintable(), line
    assert not any(line.startswith(FORGED) for line in log.splitlines())


@pytest.mark.promise("trust/31")
def test_a_folder_with_a_line_end_in_its_name_forges_no_line(upcall: Program, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    program.chmod(0o755)
    upcall.home.mkdir()
    settings = f'token_in_path = true\nwork_tree_server = "here"\n[agents.claude]\nprogram = "{program}"\n'
    (upcall.home / "upcall.toml").write_text(settings)
    folder = tmp_path / f"work\n{FORGED}\x1b[2J"
    folder.mkdir()
    (folder / ".mcp.json").write_text("{no JSON")
    begun = upcall("run", "claude", "Tidy up", "--cwd", str(folder), "--wait")
    assert begun.returncode == 1, begun.stderr
    upcall("down")
    log = (upcall.home / "daemon.log").read_text()
    assert "run 1 cannot be started" in log
    for line in log.splitlines():
        assert LINE.fullmatch(line), line
        assert line.isprintable(), line
        assert not line.startswith(FORGED), line
