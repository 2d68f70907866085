"""Files in a group's folder that are no tasks: each is set aside with a reason, and none leads out of the folder."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.files.door import Served
from tests.files.news import is_there, put, put_task, response
from upcall.doors.files.exchange import LARGEST
from upcall.doors.files.pace import AT_ONCE

TASK = b'{"type": "ask_user", "request_id": "r1", "questions": [{"question": "Which cache?"}]}'


def in_quarantine(group: Path) -> dict[str, str]:
    """The files that were set aside, each with its reason."""
    kept = sorted(path.name for path in (group / "quarantine").glob("*"))
    return {
        name: (group / "quarantine" / f"{name}.reason").read_text()
        for name in kept
        if not name.endswith(".reason")
    }


async def set_aside(group: Path, name: str) -> str:
    """The reason for which a file was set aside, once it was."""
    (group / "quarantine").mkdir(exist_ok=True)
    reason = await asyncio.to_thread(is_there, group / "quarantine" / f"{name}.reason")
    return reason.read_text()


@pytest.mark.promise("spec/140")
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a b.json", "a_b.json"),
        ("r1.txt", "r1.txt"),
        ("r1", "r1"),
        ("~r1.json", "_r1.json"),
        ("-rf.json", "-rf.json"),
        ("\u202er1.json", "_r1.json"),
        ("r1\n.json", "r1_.json"),
        ("\x1b[2Jr1.json", "__2Jr1.json"),
        ("x" * 101 + ".json", "x" * 100),
        ("x" * 250 + ".json", "x" * 100),
    ],
)
async def test_a_name_that_is_no_id_is_set_aside(served: Served, name: str, kept: str) -> None:
    put(served.group, name, TASK)
    assert "no name for a task" in await set_aside(served.group, kept)
    assert await served.asked() == []
    assert list((served.group / "responses").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON, or not all of it"),
        (TASK[:40], "not JSON, or not all of it"),
        (b"\xff\xfe\x00", "not JSON, or not all of it"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1, 2]", "a JSON object, got list"),
        (b"null", "a JSON object, got NoneType"),
        (b'{"request_id": "r1"}', "type: one of ask_user, wait, notify, collected; got None"),
        (b'{"type": ["ask_user"], "request_id": "r1"}', "type: one of"),
        (b'{"type": "answer", "request_id": "r1"}', "got 'answer'"),
        (b'{"type": "ask_user"}', "request_id: 'r1', as in the file's name; got None"),
        (b'{"type": "ask_user", "request_id": "../../r1"}', "got '../../r1'"),
        (b'{"type": "ask_user", "request_id": "/etc/passwd"}', "got '/etc/passwd'"),
        (b'{"type": "ask_user", "request_id": "r1\\u0000"}', "got 'r1\\x00'"),
        (b'{"type": "ask_user", "request_id": 1}', "got 1"),
    ],
)
async def test_what_is_no_task_is_set_aside_and_told_to_its_writer(
    served: Served, content: bytes, why: str
) -> None:
    before = set(served.root.parent.rglob("*"))
    put(served.group, "r1.json", content)
    assert why in await set_aside(served.group, "r1.json")
    told = await asyncio.to_thread(response, served.group, "r1")
    assert (told["request_id"], told["status"], told["answers"]) == ("r1", "error", None)
    assert told["error"]["code"] == "invalid_request"
    assert "ask_user" in told["error"]["hint"]
    assert await served.asked() == []
    made = {path.relative_to(served.group).parts[0] for path in set(served.root.parent.rglob("*")) - before}
    assert made <= {"quarantine", "responses"}


def as_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)


def as_link(path: Path) -> None:
    elsewhere = path.parents[3] / "elsewhere.json"
    elsewhere.write_bytes(TASK)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (as_huge, f"{LARGEST + 1} bytes; at most {LARGEST}"),
        (as_link, "a symbolic link"),
        (os.mkfifo, "not a regular file"),
        (Path.mkdir, "not a regular file"),
    ],
)
async def test_what_is_no_plain_file_of_reasonable_size_is_set_aside(
    served: Served, make: Callable[[Path], object], why: str
) -> None:
    made = served.group / "staging" / "made"
    make(made)
    made.rename(served.group / "tasks" / "r1.json")
    assert why in await set_aside(served.group, "r1.json")
    assert await served.asked() == []


async def test_a_folder_that_is_a_link_is_never_followed(served: Served) -> None:
    elsewhere = served.root.parent / "elsewhere"
    elsewhere.mkdir()
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    (served.group / "responses").rmdir()
    (served.group / "responses").symlink_to(elsewhere)
    await served.answer(inquiry, "Redis")
    put_task(served.group, "r2")
    await served.open()
    assert list(elsewhere.iterdir()) == []
    (served.group / "responses").unlink()
    (served.group / "responses").mkdir()
    assert (await asyncio.to_thread(response, served.group, "r1"))["answers"] == [["Redis"]]
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"questions": []}, ["questions: 1 to 4 of them, got 0", "for example"]),
        ({"questions": [{"question": ""}]}, ["questions[0].question: 1 to 2000 characters, got 0"]),
        ({"questions": [{"question": "?" * 2001}]}, ["1 to 2000 characters, got 2001", "for example"]),
        (
            {"questions": [{"question": "?", "options": [1] * 11}]},
            ["questions[0].options: at most 10, got 11"],
        ),
        ({"questions": "?", "context": ["x"]}, ["questions: a list", "for example"]),
        ({"kind": "riddle"}, ["kind: one of text, approval, ask_user_question"]),
        ({"timeout": "soon"}, ["'soon' is not a duration", "90s"]),
        ({"timeout": -1}, ["is not a duration"]),
        ({"session": ["s"]}, ["session: text of at most 200 characters"]),
        ({"session": "s" * 201}, ["session: text of at most 200 characters"]),
        ({"agent_id": "root"}, ["unknown agent_id 'root'"]),
        ({"type": "wait"}, ["id: text is required", "a7"]),
        ({"type": "wait", "id": "zz"}, ["there is no inquiry 'zz'"]),
        ({"type": "notify", "message": " "}, ["message: must not be empty"]),
    ],
)
async def test_an_invalid_question_gets_its_error_at_once_and_nothing_is_asked(
    served: Served, fields: dict[str, object], said: Sequence[str]
) -> None:
    put_task(served.group, "r1", **fields)
    told = await asyncio.to_thread(response, served.group, "r1")
    assert told["status"] == "error"
    whole = json.dumps([told["error"], told["text"]], ensure_ascii=False)
    assert all(part in whole for part in said), whole
    assert await served.asked() == []
    assert in_quarantine(served.group) == {}


async def test_what_is_still_being_written_under_another_name_is_left_alone(served: Served) -> None:
    for name in (".r1.json", "r1.json.tmp", ".hidden"):
        put(served.group, name, TASK[:20])
    (served.group / "tasks" / "r1.json.tmp").write_bytes(TASK)
    (served.group / "tasks" / "r1.json.tmp").rename(served.group / "tasks" / "r1.json")
    await served.open()
    assert in_quarantine(served.group) == {}
    assert sorted(path.name for path in (served.group / "tasks").iterdir()) == [".hidden", ".r1.json"]


async def test_a_file_written_in_place_counts_once_it_is_closed(served: Served) -> None:
    with (served.group / "tasks" / "r1.json").open("wb", buffering=0) as file:
        file.write(TASK[:40])
        put_task(served.group, "r2")
        await served.open()
        file.write(TASK[40:])
    await served.open(2)
    assert in_quarantine(served.group) == {}


async def test_the_latest_of_what_was_set_aside_is_kept_and_the_rest_is_not(served: Served) -> None:
    for number in range(130):
        put(served.group, f"no task {number}", b"")
    await set_aside(served.group, "no_task_129")
    assert len(list((served.group / "quarantine").iterdir())) <= 200


async def test_two_groups_do_not_see_each_other(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    other = served.root / "other"
    other.mkdir()
    await asyncio.to_thread(is_there, other / "tasks")
    put_task(other, "r1", type="wait", id=inquiry.id)
    told = await asyncio.to_thread(response, other, "r1")
    assert told["error"]["code"] == "unknown_inquiry"


async def test_a_folder_without_a_name_for_a_group_is_not_touched(served: Served) -> None:
    for name in (".git", "a b", "..."):
        (served.root / name).mkdir()
    (served.root / "last").mkdir()
    await asyncio.to_thread(is_there, served.root / "last" / "tasks")
    assert [list((served.root / name).iterdir()) for name in (".git", "a b", "...")] == [[], [], []]


@pytest.mark.parametrize(
    "field", ["session", "workspace", "request_key", "context", "questions", "id", "message"]
)
@pytest.mark.parametrize("kind", ["ask_user", "wait", "notify"])
async def test_half_a_character_is_no_fault_of_ours(served: Served, kind: str, field: str) -> None:
    put_task(
        served.group, "r1", timeout=0.05, **{"id": "a7", "message": "Done.", "type": kind, field: "\ud800"}
    )
    told = await asyncio.to_thread(response, served.group, "r1")
    assert told.get("error", {}).get("code") != "internal"


@pytest.mark.promise("trust/32")
async def test_thousands_of_bad_files_hold_up_nothing_else(served: Served) -> None:
    await served.door.close()
    tasks, responses = served.group / "tasks", served.group / "responses"
    for number in range(150):
        (tasks / f"no name {number}").touch()
        (tasks / f"r{number}.json").write_bytes(b"{")
        (responses / f"x{number}.json").touch()
    left, at_most = len(list(tasks.iterdir())), 0
    restarting = asyncio.create_task(served.restart())
    while left:
        # One turn of everything else in the daemon.
        await asyncio.sleep(0)
        now = len(list(tasks.iterdir()))
        at_most, left = max(at_most, left - now), now
    await restarting
    assert at_most <= AT_ONCE
    put_task(served.group, "good", timeout=0.05)
    assert "error" not in await asyncio.to_thread(response, served.group, "good")
    assert len(list((served.group / "quarantine").iterdir())) <= 400
