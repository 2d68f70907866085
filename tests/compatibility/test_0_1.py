"""What 0.1 wrote and said is understood: its databases, its pipe, its settings, and the calls of its API.

The files in `kept/0.1` were made by the program of that version (`record.py`), and never change.
"""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.compatibility.playing import Daemon, Json, PipeLine, missing
from tests.postgres_server import PostgresServer, binaries
from upcall.config.reading import presentable
from upcall.config.settings import load
from upcall.home.files import Home
from upcall.stores.sqlite.migrations import migrations

KEPT = Path(__file__).parent / "kept" / "0.1"
PROMISE = pytest.mark.promise("doorway/23")


def kept(name: str) -> Any:
    return json.loads((KEPT / name).read_text())


NAMES: dict[str, dict[str, str]] = kept("made.json")
MADE = NAMES["made"]
DATABASE = KEPT / "home" / "upcall.db"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A home of 0.1 with everything that was in it, served by this version."""
    program = Program(tmp_path_factory.mktemp("old") / "home")
    shutil.copytree(KEPT / "home", program.home)
    assert program("status").returncode == 0
    yield program
    program("down")


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Program]:
    """A home with the settings that were recorded, and no data yet."""
    program = Program(tmp_path / "home")
    program.home.mkdir(mode=0o700)
    shutil.copy(KEPT / "home" / "upcall.toml", program.home)
    yield program
    program("down")


def got(program: Program, path: str, who: str = "owner") -> Any:
    daemon = Daemon(program.home)
    daemon.tokens = NAMES["tokens"] | daemon.tokens
    return daemon.call({"as": who, "call": f"GET {path}"})[1]


@PROMISE
def test_the_questions_of_an_old_database_are_as_they_were(old: Program) -> None:
    replies: list[Json] = [each["reply"] for each in kept("api.json") if each["call"] == "POST /v1/inquiries"]
    asked = {each["id"]: each for each in replies if "id" in each}
    states = {"cancelled": "cancelled", "expired": "expired", "rejected": "rejected"}
    states |= dict.fromkeys(("answered", "both", "threaded"), "answered")
    for name, identity in MADE.items():
        if identity not in asked:
            continue
        now = got(old, f"/v1/inquiries/{identity}")
        assert now["state"] == states.get(name, "open"), name
        for field in ("ref", "kind", "questions", "context", "attachments", "agent", "session", "asked_at"):
            assert now[field] == asked[identity][field], (name, field)
    assert got(old, f"/v1/inquiries/{MADE['answered']}")["answer"]["answers"] == [["Redis"]]
    assert got(old, f"/v1/inquiries/{MADE['both']}")["answer"]["answers"] == [
        ["Memcached"],
        ["lint", "tests"],
    ]
    assert got(old, f"/v1/inquiries/{MADE['rejected']}")["resolution"]["reason"] == "not now"
    assert got(old, f"/v1/inquiries/{MADE['attached']}/attachments/0") == "- a\n+ b\n"


@PROMISE
def test_the_runs_rules_threads_and_tokens_of_an_old_database_are_there(old: Program) -> None:
    runs = {run["number"]: run["state"] for run in got(old, "/v1/runs")["items"]}
    assert [runs[int(MADE[name])] for name in ("done", "failed", "waiting")] == [
        "completed",
        "failed",
        "waiting_input",
    ]
    assert [rule["id"] for rule in got(old, "/v1/rules")["items"]] == [MADE["rule"]]
    (thread,) = [
        each["reply"] for each in kept("api.json") if each["call"] == "GET /v1/threads/shop-42/items"
    ]
    assert missing(thread, got(old, "/v1/threads/shop-42/items")) == []
    assert [item["id"] for item in got(old, "/v1/threads/shop-42/items")["items"]][:4] == [
        item["id"] for item in thread["items"]
    ][:4]
    assert got(old, "/v1/me", "person") == {"name": "ana", "role": "person"}
    assert got(old, "/v1/me", "bot")["name"] == "build-bot"
    assert got(old, "/v1/me", "gone")["error"]["code"] == "unauthenticated"


@PROMISE
def test_what_is_open_in_an_old_database_can_be_answered_and_found(old: Program) -> None:
    found = {each["id"] for each in got(old, "/v1/inquiries?q=staging")["items"]}
    assert found == {MADE["text"]}
    assert old("answer", MADE["drop"], "approve").returncode == 0
    waited = old("wait", MADE["drop"], "--json")
    assert (waited.returncode, json.loads(waited.stdout)["answer"]["answers"]) == (0, [["Approve"]])


@PROMISE
def test_the_answer_to_the_question_of_an_old_run_brings_its_session_back(old: Program) -> None:
    assert old("answer", MADE["waiting"], "Redis").returncode == 0
    daemon = Daemon(old.home)
    run = {"as": "owner", "call": f"GET /v1/runs/{MADE['waiting']}", "until": "completed"}
    daemon.call(run)
    assert "told:" in old("log", MADE["waiting"]).stdout


@PROMISE
def test_a_backup_of_0_1_is_restored(tmp_path: Path) -> None:
    program = Program(tmp_path / "home")
    assert program("restore", str(DATABASE)).returncode == 0
    with closing(sqlite3.connect(program.home / "upcall.db")) as db:
        assert db.execute("SELECT count(*) FROM inquiry WHERE state = 'answered'").fetchone()[0] >= 4
    assert program.json("show", MADE["cache"])["state"] == "open"
    program("down")


def test_the_kept_database_is_older_than_what_this_version_writes_or_as_old() -> None:
    with closing(sqlite3.connect(f"file:{DATABASE}?mode=ro&immutable=1", uri=True)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == 6
    assert migrations()[-1].number >= 6


@PROMISE
def test_a_postgresql_database_of_0_1_is_served(
    new: Program, tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.database(tmp_path)
    installed = binaries()
    assert installed is not None
    restore = [
        str(installed / "bin" / "psql"),
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        "--file",
        str(KEPT / "postgres.sql"),
        address,
    ]
    subprocess.run(restore, check=True, capture_output=True)
    new.environment["UPCALL_DATABASE"] = address
    listed = new.json("status")
    questions = {each["questions"][0]["question"]: each["id"] for each in listed["waiting"]}
    assert {"Which cache?", "Drop the table users?", "Which cache of the bot?"} <= questions.keys()
    assert new("answer", questions["Drop the table users?"], "approve").returncode == 0
    assert got(new, "/v1/inquiries?state=closed&q=Rust")["items"][0]["state"] == "rejected"


@PROMISE
@pytest.mark.parametrize("protocol", [1, 2])
def test_the_pipe_of_0_1_is_served(new: Program, protocol: int) -> None:
    assert new("status").returncode == 0
    daemon = Daemon(new.home)
    # The name of another pipe each time: the same one would be given the earlier answers.
    lines = (KEPT / "pipe.json").read_text().replace("<token of agent>", daemon.tokens["agent"])
    dialogue: list[Json] = json.loads(lines.replace(kept("pipe.json")[0]["pipe"]["pipe"], f"{protocol:032x}"))
    dialogue[0]["pipe"]["protocol"] = protocol
    now: dict[str, str] = {}
    with PipeLine(daemon.pipe_port) as pipe:
        for number, line in enumerate(dialogue):
            match line:
                case {"pipe": {"upcall": "taken", "id": was}}:
                    if protocol > 1:
                        pipe.send({"upcall": "taken", "id": now[was]})
                case {"pipe": message}:
                    pipe.send(message)
                case {"person": {"do": deed, "body": body}}:
                    decide = f"POST /v1/inquiries/{list(now.values())[-1]}/{deed}"
                    assert daemon.call({"as": "owner", "call": decide, "body": body})[1]["accepted"]
                case {"daemon": said}:
                    heard = pipe.receive()
                    assert missing(said, heard) == [], number
                    assert outcome(heard) == outcome(said), number
                    if said.get("upcall") == "opened":
                        now[said["id"]] = heard["id"]
                case _:
                    pytest.fail(f"nothing knows {line}")
    assert len(now) == 3


def outcome(message: Json) -> object:
    """How a call ended, if the message is the reply to one."""
    told = message.get("result", {}).get("structuredContent", {})
    return told.get("status"), told.get("answers"), "error" in message


@PROMISE
def test_the_settings_of_0_1_are_read_as_they_were(tmp_path: Path) -> None:
    shutil.copy(KEPT / "settings.toml", tmp_path / "upcall.toml")
    now = json.loads(json.dumps(presentable(load(Home(tmp_path), {}))))
    assert differences(kept("settings.json"), now) == []


def differences(was: Any, now: Any, place: str = "") -> list[str]:
    """The settings that have another value now, or none."""
    if isinstance(was, dict) and isinstance(now, dict):
        return [each for name in was for each in differences(was[name], now.get(name), f"{place}.{name}")]
    return [] if was == now else [f"{place}: {was!r} became {now!r}"]


@PROMISE
def test_the_calls_of_the_api_of_0_1_get_replies_with_all_that_they_had(new: Program, tmp_path: Path) -> None:
    assert new("status").returncode == 0
    daemon = Daemon(new.home)
    daemon.made["folder"] = str(tmp_path)
    for exchange in kept("api.json"):
        status, reply = daemon.call(exchange)
        assert status == exchange["status"], (exchange["call"], reply)
        assert missing(exchange["reply"], reply) == [], exchange["call"]
        if status >= 400:
            assert reply["error"]["code"] == exchange["reply"]["error"]["code"], exchange["call"]
