"""The daemon's side: what was left over is answered once, and nothing that happens to a folder ends the watching."""

import asyncio
import json
import logging
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require
from tests.files.conftest import separation
from tests.files.door import PATIENCE, Served, serving
from tests.files.news import is_gone, is_there, put_task, response, until
from upcall.broker.broker import Policy
from upcall.doors.files import group as file_group, pace
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.files.inotify import Inotify

APPROVAL = {"kind": "approval", "questions": [{"question": "rm -r build"}]}


async def told(served: Served, request: str) -> dict[str, Any]:
    return await asyncio.to_thread(response, served.group, request)


def unavailable() -> Inotify:
    raise OSError("no more instances")


@pytest.mark.promise("spec/196")
async def test_a_response_has_the_form_that_is_documented(served: Served) -> None:
    put_task(served.group, "r1", context="For sessions.", session="s1")
    [inquiry] = await served.open()
    assert (inquiry.origin.agent, inquiry.origin.session, inquiry.origin.door) == (
        "files:build",
        "s1",
        "files",
    )
    assert inquiry.context == "For sessions."
    await served.answer(inquiry, "Redis")
    response = await told(served, "r1")
    assert isinstance(response.pop("waited_seconds"), float)
    assert response == {
        "request_id": "r1",
        "status": "answered",
        "answers": [["Redis"]],
        "text": "The user answered: Redis",
        "id": inquiry.id,
        "ref": inquiry.ref,
    }
    await asyncio.to_thread(is_gone, served.group / "taken" / "r1.json")


@pytest.mark.promise("spec/32")
async def test_a_block_that_ends_is_told_as_parked_and_the_question_stays_open(served: Served) -> None:
    put_task(served.group, "r1", timeout=0.05)
    [inquiry] = await served.open()
    parked = await told(served, "r1")
    assert (parked["status"], parked["answers"], parked["id"]) == ("parked", None, inquiry.id)
    put_task(served.group, "r2", type="wait", id=parked["ref"])
    await served.answer(inquiry, "Redis")
    assert (await told(served, "r2"))["answers"] == [["Redis"]]


@pytest.mark.promise("spec/168")
async def test_after_its_ttl_a_question_is_told_as_expired_and_an_approval_as_denied(
    served: Served,
) -> None:
    put_task(served.group, "r1", ttl=0.05)
    put_task(served.group, "r2", ttl=0.05, **APPROVAL)
    assert (await told(served, "r1"))["status"] == "expired"
    denied = await told(served, "r2")
    assert denied["status"] == "expired"
    assert "Do not perform the action" in denied["text"]


async def test_by_policy_the_end_of_a_block_is_an_error(tmp_path: Path) -> None:
    async with serving(tmp_path, policy=Policy(block_timeout=0.05, on_block_end="error")) as served:
        put_task(served.group, "r1")
        assert (await told(served, "r1"))["error"]["code"] == "timeout"


@pytest.mark.parametrize("folder", ["tasks", "taken"])
async def test_what_was_left_over_is_asked_and_answered_once(served: Served, folder: str) -> None:
    await served.door.close()
    put_task(served.group, "r1").rename(served.group / folder / "r1.json")
    for _ in range(3):
        await served.restart()
        await served.open()
    [inquiry] = await served.open()
    await served.answer(inquiry, "Redis")
    assert (await told(served, "r1"))["answers"] == [["Redis"]]
    await served.restart()
    assert len(await served.asked()) == 1


async def test_an_answer_given_while_no_door_was_open_is_there_after_the_restart(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    await served.door.close()
    await served.answer(inquiry, "Redis")
    await served.restart()
    assert (await told(served, "r1"))["answers"] == [["Redis"]]
    assert len(await served.asked()) == 1


async def test_a_response_is_never_overwritten(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    (served.group / "responses" / "r1.json").write_text("{}")
    await served.answer(inquiry, "Redis")
    await asyncio.to_thread(is_gone, served.group / "taken" / "r1.json")
    assert (served.group / "responses" / "r1.json").read_text() == "{}"
    assert list((served.group / "staging").iterdir()) == []


async def test_the_same_task_again_is_the_same_question_and_another_under_its_id_is_refused(
    served: Served,
) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    put_task(served.group, "r1", questions=["Something else?"])
    reason = await asyncio.to_thread(is_there, made(served.group / "quarantine") / "r1.json.reason")
    assert "under way" in reason.read_text()
    await served.answer(inquiry, "Redis")
    await told(served, "r1")
    (served.group / "responses" / "r1.json").unlink()
    await asyncio.to_thread(is_gone, served.group / "taken" / "r1.json")
    put_task(served.group, "r1")
    assert (await told(served, "r1"))["id"] == inquiry.id
    (served.group / "responses" / "r1.json").unlink()
    await asyncio.to_thread(is_gone, served.group / "taken" / "r1.json")
    put_task(served.group, "r1", questions=["Something else?"])
    assert (await told(served, "r1"))["error"]["code"] == "key_conflict"
    assert len(await served.asked()) == 1


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


async def test_a_request_key_makes_two_tasks_one_question(served: Served) -> None:
    put_task(served.group, "r1", request_key="toolu_1")
    put_task(served.group, "r2", request_key="toolu_1")
    [inquiry] = await served.open()
    await served.answer(inquiry, "Redis")
    assert (await told(served, "r1"))["id"] == (await told(served, "r2"))["id"]
    assert len(await served.asked()) == 1


async def test_folders_that_disappear_are_made_again(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    for name in ("responses", "staging", "tasks"):
        shutil.rmtree(served.group / name)
    await asyncio.to_thread(is_there, served.group / "tasks")
    await served.answer(inquiry, "Redis")
    await asyncio.to_thread(is_there, served.group / "responses")
    assert (await told(served, "r1"))["answers"] == [["Redis"]]
    shutil.rmtree(served.group / "taken")
    put_task(served.group, "r2")
    await served.open()


async def test_a_group_that_is_taken_away_and_made_again_is_served_again(served: Served) -> None:
    put_task(served.group, "r1")
    await served.open()
    shutil.rmtree(served.group)
    served.group.mkdir()
    await asyncio.to_thread(is_there, served.group / "tasks")
    put_task(served.group, "r2")
    _, inquiry = await served.open(2)
    await served.answer(inquiry, "Redis")
    assert (await told(served, "r2"))["answers"] == [["Redis"]]


async def test_a_group_that_is_moved_elsewhere_is_let_go(served: Served) -> None:
    served.group.rename(served.root.parent / "elsewhere")
    served.group.mkdir()
    await asyncio.to_thread(is_there, served.group / "tasks")
    put_task(served.root.parent / "elsewhere", "r1")
    put_task(served.group, "r2")
    [inquiry] = await served.open()
    assert inquiry.origin.request_key == "r2"
    assert (served.root.parent / "elsewhere" / "tasks" / "r1.json").exists()


async def test_a_response_that_cannot_be_written_is_tried_again(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    (served.group / "responses").rmdir()
    (served.group / "responses").write_text("in the way")
    told_of: asyncio.Queue[str] = asyncio.Queue()

    def listen(record: logging.LogRecord) -> bool:
        told_of.put_nowait(record.getMessage())
        return True

    file_group.log.addFilter(listen)
    await served.answer(inquiry, "Redis")
    assert "trying again" in await asyncio.wait_for(told_of.get(), PATIENCE)
    (served.group / "responses").unlink()
    await asyncio.to_thread(is_there, served.group / "responses")
    assert (await told(served, "r1"))["answers"] == [["Redis"]]
    file_group.log.removeFilter(listen)


def test_a_full_disk_is_waited_out(tmp_path: Path) -> None:
    """On a real one, a little memory mounted for a process of its own."""
    how = separation()
    require(how, "unshare with namespaces for network and mounts")
    assert how is not None
    small, roomy = made(tmp_path / "small"), made(tmp_path / "roomy")
    script = f'mount -t tmpfs -o size=128k none "{small}" && exec "$@"'
    inside = [sys.executable, "-m", "tests.files.full_disk", str(small), str(roomy)]
    done = subprocess.run(
        [*how, "sh", "-c", script, "sh", *inside], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "told once there was room\n"


async def test_an_end_is_told_as_parked_and_a_restart_is_not(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    await served.restart()
    await served.door.close(end=False)
    assert list((served.group / "responses").iterdir()) == []
    await served.restart()
    put_task(served.group, "r2")
    await served.open(2)
    await served.door.close(end=True)
    parked = json.loads((served.group / "responses" / "r1.json").read_text())
    assert (parked["status"], parked["id"]) == ("parked", inquiry.id)
    assert list((served.group / "taken").iterdir()) == []


async def test_an_asker_that_left_gets_no_response(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    (served.group / "taken" / "r1.json").unlink()
    await served.answer(inquiry, "Redis")
    put_task(served.group, "r2", type="notify", message="Later, so the first is over.")
    assert (await told(served, "r2"))["status"] == "notified"
    assert [path.name for path in (served.group / "responses").iterdir()] == ["r2.json"]


async def test_that_an_answer_was_collected_is_recorded_and_gets_no_response(served: Served) -> None:
    put_task(served.group, "r1")
    [inquiry] = await served.open()
    await served.answer(inquiry, "Redis")
    await told(served, "r1")
    put_task(served.group, "r2", type="collected", id=inquiry.id)
    put_task(served.group, "r3", type="collected", id="no such thing")
    await asyncio.to_thread(is_gone, served.group / "taken" / "r1.json")
    put_task(served.group, "r4", type="wait", id=inquiry.id)
    await told(served, "r4")
    for request in ("r2", "r3"):
        await asyncio.to_thread(is_gone, served.group / "taken" / f"{request}.json")
    assert [event.type for event in await served.broker.store.events(0)].count("collected") == 1
    assert sorted(path.name for path in (served.group / "responses").iterdir()) == ["r1.json", "r4.json"]


async def test_a_response_that_is_not_fetched_is_removed_after_a_day(served: Served) -> None:
    await served.door.close()
    for folder in ("responses", "staging"):
        for name, age in (("old", file_group.LEFT_FOR + 60), ("new", 0.0)):
            path = served.group / folder / f"{name}.json"
            path.write_text("{}")
            written = path.stat().st_mtime - age
            os.utime(path, (written, written))
    await served.restart()
    for folder in ("responses", "staging"):
        await asyncio.to_thread(is_gone, served.group / folder / "old.json")
        assert [path.name for path in (served.group / folder).iterdir()] == ["new.json"]


@pytest.mark.parametrize(
    ("mode", "folder", "file"),
    [
        (0o700, 0o700, 0o600),
        (0o755, 0o700, 0o600),
        (0o775, 0o770, 0o660),
        (0o770, 0o770, 0o660),
        (0o777, 0o777, 0o666),
    ],
)
async def test_what_is_made_in_a_group_is_open_to_users_that_can_write_to_the_group(
    tmp_path: Path, mode: int, folder: int, file: int
) -> None:
    async with serving(tmp_path) as served:
        (served.root / "shared").mkdir()
        (served.root / "shared").chmod(mode)
        await served.restart()
        group = served.root / "shared"
        put_task(group, "r1", timeout=0.05)
        await asyncio.to_thread(response, group, "r1")
        made = {path.name: path.stat().st_mode & 0o777 for path in group.iterdir()}
        assert {made[name] for name in ("tasks", "taken", "responses", "staging")} == {folder}
        assert (group / "responses" / "r1.json").stat().st_mode & 0o777 == file


async def test_a_group_that_is_opened_to_others_later_is_opened_with_everything_in_it(served: Served) -> None:
    assert {path.stat().st_mode & 0o777 for path in served.group.iterdir()} == {0o700}
    served.group.chmod(0o2770)

    def open_by_now() -> bool | None:
        return {path.stat().st_mode & 0o7777 for path in served.group.iterdir()} == {0o2770} or None

    await asyncio.to_thread(until, served.group, open_by_now)
    put_task(served.group, "r1", timeout=0.05)
    await told(served, "r1")
    assert (served.group / "responses" / "r1.json").stat().st_mode & 0o777 == 0o660


async def test_more_tasks_than_are_taken_at_once_are_all_taken(served: Served) -> None:
    await served.door.close()
    for number in range(2 * pace.AT_ONCE + 1):
        put_task(served.group, f"r{number}", type="notify", message="Done.")
    await served.restart()
    await told(served, f"r{2 * pace.AT_ONCE}")
    for number in range(2 * pace.AT_ONCE + 1):
        assert (await told(served, f"r{number}"))["status"] == "notified"


async def test_without_news_from_the_system_it_looks_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, partial(FolderWatch, events=unavailable, poll=0.02)) as served:
        put_task(served.group, "r1")
        [inquiry] = await served.open()
        await served.answer(inquiry, "Redis")
        assert (await told(served, "r1"))["answers"] == [["Redis"]]
        (served.root / "later").mkdir()
        await asyncio.to_thread(is_there, served.root / "later" / "tasks")
    assert "no news of files from the system" in caplog.text


async def test_a_root_that_cannot_be_used_is_told_once_and_the_others_are_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    async with serving(tmp_path, partial(FolderWatch, poll=0.02), more=[tmp_path / "file"]) as served:
        put_task(served.group, "r1")
        await served.open()
        (tmp_path / "file").unlink()
        (tmp_path / "file" / "group").mkdir(parents=True)
        await asyncio.to_thread(is_there, tmp_path / "file" / "group" / "tasks")
    assert caplog.text.count("cannot be read") == 1
