"""The records of programs, as files: what is read of them, and what is refused."""

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from upcall.agents.claude.transcript import ClaudeTranscripts
from upcall.agents.codex.transcript import CodexTranscripts
from upcall.agents.gemini.transcript import GeminiTranscripts
from upcall.agents.opencode.transcript import OpencodeTranscripts
from upcall.domain.inquiry.activity import Call, Words, activity
from upcall.ports.foreign_files import Refused
from upcall.ports.transcripts import WINDOW, AskingSession, SessionRecord

SESSION = "01a1e6d4-29ce-7f41-b52c-a883597ac036"
FOLDER = "/srv/shop.api"
LINES = [
    {"type": "user", "message": {"role": "user", "content": "Add a cache"}},
    {
        "type": "assistant",
        "isSidechain": True,
        "message": {"id": "s", "content": [{"type": "text", "text": "helper"}]},
    },
    {"type": "assistant", "message": {"id": "a", "content": [{"type": "text", "text": "I look."}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "no words of a person"}]}},
]


def a_session(home: Path, **changes: Any) -> AskingSession:
    fields: dict[str, Any] = {"id": SESSION, "folder": FOLDER, "question": "Which?", "asked_at": 1e9}
    return AskingSession(**{**fields, "environment": {"HOME": str(home)}, **changes})


def a_record(home: Path, lines: Sequence[object] = LINES, session: str = SESSION) -> Path:
    path = home / ".claude/projects/-srv-shop-api" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_words_of_helpers_and_results_are_not_those_of_the_agent_or_the_person(tmp_path: Path) -> None:
    a_record(tmp_path)
    record = ClaudeTranscripts().read(a_session(tmp_path))
    assert record == SessionRecord(task="Add a cache", turn=1, steps=(Words(text="I look."),))


@pytest.mark.promise("desk/7")
def test_the_record_of_another_session_is_not_read(tmp_path: Path) -> None:
    a_record(tmp_path, session="01a1e6d4-0000-7f41-b52c-a883597ac036")
    assert ClaudeTranscripts().read(a_session(tmp_path)) is None


def a_link(path: Path) -> None:
    elsewhere = path.parents[3] / "elsewhere.jsonl"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def a_folder_that_is_a_link(path: Path) -> None:
    elsewhere = path.parents[3] / "elsewhere"
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_file_of_another_user(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, 12345, 12345)


@pytest.mark.promise("desk/39")
@pytest.mark.parametrize("trick", (a_link, a_folder_that_is_a_link, a_pipe, a_file_of_another_user))
def test_what_is_no_plain_file_of_this_user_in_its_place_is_refused(
    tmp_path: Path, trick: Callable[[Path], None]
) -> None:
    trick(a_record(tmp_path))
    with pytest.raises(Refused):
        ClaudeTranscripts().read(a_session(tmp_path))


def test_the_folder_of_a_program_may_be_a_link_of_its_owner(tmp_path: Path) -> None:
    a_record(tmp_path / "dotfiles")
    (tmp_path / ".claude").symlink_to(tmp_path / "dotfiles/.claude")
    assert ClaudeTranscripts().read(a_session(tmp_path)) is not None


@pytest.mark.promise("desk/39")
def test_of_a_record_without_end_only_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_record(tmp_path)
    with path.open("r+b") as file:
        end = file.read()
        # A file with a hole: 200 MB long, and no blocks on the disk.
        file.seek(200_000_000)
        file.write(b"\n" + end)
    read = [0]
    before = os.fdopen

    def counted(descriptor: int, mode: str) -> Any:
        file = before(descriptor, mode)
        taken = file.read

        class Counted:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def read(self, most: int) -> bytes:
                data: bytes = taken(most)
                read[0] += len(data)
                return data

        return Counted()

    monkeypatch.setattr(os, "fdopen", counted)
    record = ClaudeTranscripts().read(a_session(tmp_path))
    assert record == SessionRecord(task="Add a cache", turn=None, steps=(Words(text="I look."),))
    assert 0 < read[0] <= WINDOW


@pytest.mark.parametrize(
    "line",
    (
        "null",
        "[" * 100_000,
        '{"type": "assistant", "message": 1}',
        '{"type": "assistant", "message": {"id": [], "content": [null, {"type": "text", "text": 1}, {"type": "tool_use"}]}}',
        '{"type": "user", "message": {"content": {}}}',
        '{"type": "assistant"',
        "\x00\x1b[2J",
    ),
    ids=lambda line: line[:40],
)
def test_a_line_of_any_form_is_survived(tmp_path: Path, line: str) -> None:
    path = a_record(tmp_path)
    path.write_text(line + "\n" + path.read_text())
    record = ClaudeTranscripts().read(a_session(tmp_path))
    assert record is not None
    assert record.steps[-1] == Words(text="I look.")
    assert activity(record.steps).message == "I look."


@pytest.mark.promise("desk/7")
def test_codex_is_found_by_the_day_of_its_session(tmp_path: Path) -> None:
    folder = tmp_path / ".codex/sessions/2026/11/16"
    folder.mkdir(parents=True)
    items = [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Add a cache"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}'},
    ]
    lines = [{"type": "response_item", "payload": item} for item in items] + [{"type": "token_usage_record"}]
    name = f"rollout-2026-11-16T23-59-59-{SESSION}.jsonl"
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    steps = (Words(text="I look."), Call(tool="exec_command", input={"cmd": "ls"}))
    assert CodexTranscripts().read(a_session(tmp_path)) == SessionRecord(
        task="Add a cache", turn=1, steps=steps
    )


@pytest.mark.promise("desk/7")
def test_a_session_of_opencode_without_a_name_is_the_one_that_asks_this(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    database = sqlite3.connect(folder / "opencode.db")
    database.execute("CREATE TABLE session (id, directory, parent_id, time_updated)")
    database.execute("CREATE TABLE message (id, session_id, data)")
    database.execute("CREATE TABLE part (id, message_id, session_id, data)")
    for number, question in enumerate(("Which?", "Something else?")):
        name = f"ses_{number}"
        database.execute("INSERT INTO session VALUES (?, ?, NULL, ?)", (name, FOLDER, number))
        database.execute("INSERT INTO message VALUES (?, ?, ?)", (name, name, '{"role": "assistant"}'))
        call = {"type": "tool", "tool": "upcall_ask_human", "state": {"input": {"question": question}}}
        for part, data in enumerate(({"type": "text", "text": f"I am {number}."}, call)):
            row = (f"{number}{part}", name, name, json.dumps(data))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    database.commit()
    record = OpencodeTranscripts().read(a_session(tmp_path, id=""))
    assert record is not None
    assert record.steps[0] == Words(text="I am 0.")
    assert OpencodeTranscripts().read(a_session(tmp_path, id="", question="Neither?")) is None
    assert OpencodeTranscripts().read(a_session(tmp_path, id="", folder="/srv/other")) is None


@pytest.mark.promise("desk/7")
def test_where_two_sessions_of_gemini_could_be_asking_neither_is_read(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini/tmp/shop/chats"
    chats.mkdir(parents=True)
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {FOLDER: "shop"}}))
    lines = [
        {"id": "1", "type": "user", "content": [{"text": "Add a cache"}]},
        {"id": "2", "type": "gemini", "content": "I look."},
        {
            "id": "2",
            "type": "gemini",
            "content": "I look.",
            "toolCalls": [{"name": "ls", "args": {"path": "."}}],
        },
        {"id": "3", "type": "gemini", "content": ""},
    ]
    for name in ("one", "two"):
        path = chats / f"session-{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (1e9, 1e9))
        read = GeminiTranscripts().read(a_session(tmp_path, id=""))
        if name == "one":
            assert read is not None
            assert (read.task, read.turn) == ("Add a cache", 2)
            assert Call(tool="ls", input={"path": "."}) in read.steps
        else:
            assert read is None


def test_a_project_of_gemini_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {FOLDER: "../../.ssh"}}))
    with pytest.raises(FileNotFoundError):
        GeminiTranscripts().read(a_session(tmp_path, id=""))
