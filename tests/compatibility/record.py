"""Records what a version of Upcall writes and says, to be kept for the tests of later versions.

    git worktree add ../upcall-0.1 89de933
    PYTHONPATH=../upcall-0.1/src .venv/bin/python -m tests.compatibility.record tests/compatibility/kept/0.1

`settings.toml` and `home/upcall.toml` in that folder are written by hand. All other files in it are made here, by the
program that `PYTHONPATH` names: it is driven from the outside alone, by its commands, over HTTP and through its pipe.
"""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.compatibility.calls import CACHE, TOUR
from tests.compatibility.playing import PATIENCE, Daemon, Json
from tests.postgres_server import PostgresServer, binaries

PROGRAM = [sys.executable, "-m", "upcall"]
LATER = "UPDATE {} SET expires_at = 4102444800 WHERE state IN ('open', 'queued')"
"""The year 2100: what is open in a kept database is open whenever a test opens it."""

OF_THE_PROCESS = (
    "*.lock",
    "lock",
    "*.log.*",
    "daemon.log",
    "upcall.db*",
    "databases",
    "port",
    "down",
    "replies.json",
    "keepers.json",
)
"""Files of a home that a daemon makes anew, or that are copied in another way."""

RUNNER = "workstation-0a1b2c"
"""The machine that the recorded runs belong to."""

CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a-client", "version": "1"},
}
PUSH = {"action": "git push --force", "reason": "The branch was rebased."}
# A request of the agent, and what its person does once the question is open.
DIALOGUE: list[tuple[str, Json, Json | None]] = [
    ("initialize", CLIENT, None),
    ("tools/call", {"name": "ask_human", "arguments": CACHE}, {"do": "answer", "body": {"text": "1"}}),
    ("tools/call", {"name": "confirm_action", "arguments": PUSH}, {"do": "answer", "body": {"text": "no"}}),
    (
        "tools/call",
        {"name": "ask_human", "arguments": {"question": "Rewrite it?"}},
        {"do": "reject", "body": {"reason": "later"}},
    ),
    ("tools/call", {"name": "notify_human", "arguments": {"message": "Done with the first half."}}, None),
    ("tools/call", {"name": "wait_for_answer", "arguments": {"id": "zz9"}}, None),
    # Late, since a pipe that is not connected yet replies to it by itself.
    ("tools/list", {}, None),
    ("ping", {}, None),
]


class Relay:
    """Stands between a pipe and its daemon, and keeps every line with the side that said it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.lines: list[Json] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._serve, daemon=True).start()

    def said(self, who: str, what: str, nth: int = 1) -> Any:
        """The nth line of one side that holds some words, once there is one."""
        with self.changed:
            while True:
                found = [line[who] for line in self.lines if who in line and what in json.dumps(line)]
                if len(found) >= nth:
                    return found[nth - 1]
                assert self.changed.wait(PATIENCE), what

    def _serve(self) -> None:
        pipe = self._listening.accept()[0]
        daemon = socket.create_connection(("127.0.0.1", self._port))
        threading.Thread(target=self._pass, args=(daemon, pipe, "daemon"), daemon=True).start()
        self._pass(pipe, daemon, "pipe")

    def _pass(self, source: socket.socket, target: socket.socket, who: str) -> None:
        with source.makefile("rb") as lines:
            for line in lines:
                self.keep({who: json.loads(line)})
                target.sendall(line)

    def keep(self, line: Json) -> None:
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()


def recorded_dialogue(home: Path, daemon: Daemon) -> list[Json]:
    """The lines of a real `upcall mcp` and of its daemon, and what a person did in between."""
    relay = Relay(daemon.pipe_port)
    seen = home.parent / "relayed"
    seen.mkdir(mode=0o700)
    running = json.loads((home / "run.json").read_text()) | {"pipe_port": relay.port}
    (seen / "run.json").write_text(json.dumps(running))
    pipe = subprocess.Popen(
        [*PROGRAM, "mcp", "--wait", "block"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"UPCALL_HOME": str(seen)},
        cwd="/",
    )
    assert pipe.stdin is not None
    assert pipe.stdout is not None

    def say(message: Json) -> None:
        assert pipe.stdin is not None
        pipe.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        pipe.stdin.flush()

    opened, question = 0, ""
    for number, (method, params, person) in enumerate(DIALOGUE, start=1):
        say({"id": number, "method": method, "params": params})
        if person is not None:
            opened += 1
            question = relay.said("daemon", '"opened"', opened)["id"]
            relay.keep({"person": person})
            decide = f"POST /v1/inquiries/{question}/{person['do']}"
            daemon.call({"as": "owner", "call": decide, "body": person["body"]})
        while json.loads(pipe.stdout.readline()).get("id") != number:
            pass
        if person is not None:
            relay.said("pipe", f'"taken", "id": "{question}"')
        if method == "initialize":
            say({"method": "notifications/initialized"})
    pipe.stdin.close()
    pipe.wait()
    return relay.lines


@contextmanager
def a_home(folder: Path, kept: Path, **variables: str) -> Iterator[Path]:
    """A home with its daemon running."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    shutil.copy(kept / "home" / "upcall.toml", home)
    (home / "runner").write_text(f"{RUNNER}\n")
    os.environ.update(variables, UPCALL_HOME=str(home))
    subprocess.run([*PROGRAM, "status"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield home
    finally:
        subprocess.run([*PROGRAM, "down"], check=True, stdout=subprocess.DEVNULL)
        for name in variables:
            del os.environ[name]


def toured(daemon: Daemon, folder: Path) -> list[Json]:
    """The tour, with the reply to each call."""
    daemon.made["folder"] = str(folder)
    exchanges: list[Json] = []
    for each in TOUR:
        status, reply = daemon.call(each)
        sys.stderr.write(f"{status} {each['call']}\n")
        exchanges.append(each | {"status": status, "reply": reply})
    del daemon.made["folder"]
    return exchanges


def write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def record_sqlite(kept: Path, folder: Path) -> None:
    with a_home(folder, kept) as home:
        daemon = Daemon(home)
        exchanges = toured(daemon, folder)
        write(kept / "pipe.json", hidden(recorded_dialogue(home, daemon), daemon, folder))
        write(kept / "api.json", hidden(exchanges, daemon, folder))
        write(kept / "made.json", {"tokens": daemon.tokens, "made": daemon.made})
    with closing(sqlite3.connect(home / "upcall.db", isolation_level=None)) as db:
        db.execute(LATER.format("inquiry"))
        db.execute("VACUUM INTO ?", [str(folder / "upcall.db")])
    shutil.rmtree(kept / "home")
    shutil.copytree(home, kept / "home", ignore=shutil.ignore_patterns(*OF_THE_PROCESS))
    shutil.move(folder / "upcall.db", kept / "home")


def hidden(value: Any, daemon: Daemon, folder: Path) -> Any:
    """Without the folder of the recording, the port and the tokens, none of which a later daemon has."""
    text = json.dumps(value).replace(str(folder), "<folder>").replace(daemon.url, "<url>")
    for name, token in daemon.tokens.items():
        text = text.replace(token, f"<token of {name}>")
    return json.loads(text)


def record_postgres(kept: Path, folder: Path) -> None:
    installed = binaries()
    assert installed is not None, "PostgreSQL comes with `make test`"
    server = PostgresServer(installed)
    server.start()
    try:
        address = server.database("kept")
        with a_home(folder, kept, UPCALL_DATABASE=address) as home:
            toured(Daemon(home), folder)
        with psycopg.connect(address) as db:
            db.execute(LATER.format("upcall.inquiry"))
        dump = [
            str(installed / "bin" / "pg_dump"),
            "--schema=upcall",
            "--no-owner",
            "--no-privileges",
            address,
        ]
        dumped = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        (kept / "postgres.sql").write_text(dumped)
    finally:
        server.remove()


def main(kept: Path) -> None:
    """Make every file of a folder anew, but for the two that are written by hand."""
    settings = tempfile.mkdtemp()
    shutil.copy(kept / "settings.toml", Path(settings) / "upcall.toml")
    check = [*PROGRAM, "config", "check", "--json"]
    told = subprocess.run(check, check=True, capture_output=True, env=os.environ | {"UPCALL_HOME": settings})
    write(kept / "settings.json", json.loads(told.stdout))
    for record in (record_sqlite, record_postgres):
        record(kept, Path(tempfile.mkdtemp(prefix="upcall-kept-")))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
