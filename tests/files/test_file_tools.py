"""The container's side alone: every way in which a call can end, and what it leaves in the folder."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.files.door import PATIENCE, serving
from upcall.domain.roles import Caller, Role
from upcall.doors.files.exchange import RESPONSES, STAGING, TASKS, Exchange
from upcall.doors.files.folder_watch import FolderWatch
from upcall.doors.files.inbox import Inbox
from upcall.doors.files.inotify import Inotify
from upcall.doors.files.tools import FileTools
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.progress import Beat
from upcall.doors.mcp.tools import ToolResult
from upcall.doors.mcp.watching import Watching

ASKER = Asker.of(Caller(name="files", role=Role.AGENT), door="")
CACHE = {"question": "Which cache?", "options": ["Redis", "Memcached"]}
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class Contained:
    """The tools over a folder, and what lies in it."""

    def __init__(self, folder: Path, tools: FileTools, watch: FolderWatch) -> None:
        self.folder = folder
        self.tools = tools
        self._watch = watch

    def begin(self, tool: str = "ask_human", watching: Watching | None = None, **arguments: object) -> "Call":
        return asyncio.create_task(self.tools.call(tool, arguments or CACHE, ASKER, watching or Watching()))

    async def task(self) -> Path:
        """The one task in the folder, once it is there."""
        return await self.found(lambda: next((self.folder / "tasks").iterdir(), None))

    async def found(self, look: Callable[[], Path | None]) -> Path:
        changed = asyncio.Event()
        end = self._watch.add(str(self.folder / "tasks"), lambda _: changed.set())
        async with asyncio.timeout(PATIENCE):
            while (path := look()) is None:
                changed.clear()
                await changed.wait()
        end()
        return path

    def take(self, task: Path) -> str:
        """Do what a daemon does that has taken a task."""
        (self.folder / "taken").mkdir(exist_ok=True)
        task.rename(self.folder / "taken" / task.name)
        return task.stem

    def respond(self, request: str, **fields: object) -> None:
        staged = self.folder / "staging" / "response"
        staged.write_text(json.dumps({"request_id": request, **fields}))
        staged.rename(self.folder / "responses" / f"{request}.json")

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("*/*"))


Call = asyncio.Task[ToolResult]


def unavailable() -> Inotify:
    raise OSError("no more instances")


@asynccontextmanager
async def contained(
    folder: Path,
    *,
    slice_seconds: float = 60,
    watch: Callable[[], FolderWatch] = FolderWatch,
    beat: float = 15,
) -> AsyncIterator[Contained]:
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    exchange, watching = Exchange(str(folder)), watch()
    exchange.prepare(TASKS, RESPONSES, STAGING)
    inbox = Inbox(exchange, str(folder), watching)
    tools = FileTools(exchange, inbox, slice_seconds=slice_seconds, grace=0, beat=Beat(beat))
    yield Contained(folder, tools, watching)
    watching.close()
    exchange.close()


@pytest.mark.promise("spec/196")
async def test_a_task_has_the_form_that_is_documented(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc") as container:
        call = container.begin()
        path = await container.task()
        assert json.loads(path.read_text()) == {
            "type": "ask_user",
            "request_id": path.stem,
            "questions": [CACHE],
            "timeout": 60,
        }
        container.respond(container.take(path), status="answered", answers=[["Redis"]], text="Redis.")
        result = await call
        assert (result.text, result.structured) == ("Redis.", {"status": "answered", "answers": [["Redis"]]})
        assert container.files() == [f"taken/{path.name}"]


async def test_a_task_that_is_not_taken_in_time_was_not_asked_and_leaves_nothing(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc", slice_seconds=0.05) as container:
        result = await container.begin()
        assert result.is_error
        assert result.structured["error"] == {
            "code": "not_picked_up",
            "message": "no Upcall picked this up, so nothing was asked",
            "hint": "report that no human can be reached; ask again later",
        }
        assert container.files() == []


async def test_a_call_to_a_daemon_that_went_silent_is_parked_and_can_be_waited_for_again(
    tmp_path: Path,
) -> None:
    async with contained(tmp_path / "ipc", slice_seconds=0.2) as container:
        call = container.begin()
        request = container.take(await container.task())
        parked = await call
        assert parked.structured == {"status": "parked", "id": request}
        assert request in parked.text
        assert not parked.is_error
        again = await container.begin("wait_for_answer", id=request)
        assert again.structured["status"] == "parked"
        container.respond(request, status="answered", answers=[["Redis"]], text="Redis.")
        assert (await container.begin("wait_for_answer", id=request)).text == "Redis."
        assert container.files() == [f"taken/{request}.json"]


async def test_a_task_that_vanished_is_an_error_and_not_a_wait_for_nothing(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc", slice_seconds=0.2) as container:
        call = container.begin()
        (await container.task()).unlink()
        error = (await call).structured["error"]
        assert isinstance(error, dict)
        assert error["code"] == "lost"


async def test_a_response_written_in_place_is_read_when_it_is_whole(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc") as container:
        call = container.begin()
        request = container.take(await container.task())
        whole = json.dumps({"request_id": request, "status": "answered", "answers": [["Redis"]]})
        with (container.folder / "responses" / f"{request}.json").open("w", buffering=1) as file:
            file.write(whole[:20])
            file.flush()
            # What is asked now is looked at after what was told before it.
            other = container.begin()
            container.respond(container.take(await container.task()), status="rejected", text="No.")
            await other
            assert not call.done()
            file.write(whole[20:])
        assert (await call).text == "The user answered: [['Redis']]"


async def test_a_response_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc", slice_seconds=0.2) as container:
        call = container.begin()
        request = container.take(await container.task())
        (tmp_path / "elsewhere").write_text('{"status": "answered", "answers": [["root"]], "text": "x"}')
        (container.folder / "responses" / f"{request}.json").symlink_to(tmp_path / "elsewhere")
        result = await call
        assert result.is_error
        assert "cannot be read here" in result.text


async def test_signs_of_life_say_whether_a_daemon_took_the_task(tmp_path: Path) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    async with contained(tmp_path / "ipc", beat=0.1) as container:
        call = container.begin(watching=Watching(progress=lambda count, sentence: said.put_nowait(sentence)))
        assert await said.get() == "Waiting for Upcall to pick this up"
        container.take(await container.task())
        while (sentence := await said.get()) == "Waiting for Upcall to pick this up":
            pass
        assert sentence == "Waiting for a human to answer"
        call.cancel()


async def test_a_folder_that_cannot_be_written_to_is_an_error_that_says_so(tmp_path: Path) -> None:
    async with contained(tmp_path / "ipc") as container:
        for name in ("tasks", "staging"):
            (container.folder / name).rmdir()
            (container.folder / name).write_text("in the way")
        result = await container.begin()
        assert result.is_error
        assert "mounted, writable, and not full" in result.text


async def test_a_notice_that_no_daemon_takes_is_an_error_and_an_unknown_tool_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("upcall.doors.files.tools.NOTIFY_WITHIN", 0.05)
    async with contained(tmp_path / "ipc") as container:
        assert "nothing was asked" in (await container.begin("notify_human", message="Done.")).text
        assert "there is no tool 'ask'" in (await container.begin("ask")).text
        assert container.files() == []


async def test_without_news_from_the_system_both_sides_look_by_themselves(tmp_path: Path) -> None:
    blind = partial(FolderWatch, events=unavailable, poll=0.02)
    async with serving(tmp_path, blind) as served, contained(served.group, watch=blind) as container:
        call = container.begin()
        [inquiry] = await served.open()
        await served.answer(inquiry, "1")
        assert (await call).structured["answers"] == [["Redis"]]


async def test_a_mount_that_is_not_trusted_to_tell_is_looked_at_as_well(tmp_path: Path) -> None:
    looked = asyncio.Event()
    watch = FolderWatch(poll=0.02, trusted=lambda folder: False)
    watch.add(str(tmp_path), lambda name: looked.set() if name is None else None)
    await asyncio.wait_for(looked.wait(), PATIENCE)
    watch.close()


@pytest.mark.promise("pynchy/17", "spec/66")
async def test_where_events_work_nothing_is_looked_at_without_one(tmp_path: Path) -> None:
    seen: asyncio.Queue[str | None] = asyncio.Queue()
    watch = FolderWatch(poll=0.001, trusted=lambda folder: True)
    watch.add(str(tmp_path), seen.put_nowait)
    (tmp_path / "staged").write_text("")
    (tmp_path / "staged").rename(tmp_path / "placed")
    os.link(tmp_path / "placed", tmp_path / "linked")
    names = [await asyncio.wait_for(seen.get(), PATIENCE) for _ in range(4)]
    assert names == ["staged", "staged", "placed", "linked"]
    assert not watch.polls
    watch.close()


async def test_a_folder_that_comes_later_or_comes_back_is_watched(tmp_path: Path) -> None:
    seen: asyncio.Queue[str | None] = asyncio.Queue()
    watch = FolderWatch(poll=0.01, trusted=lambda folder: True)
    watch.add(str(tmp_path / "later"), seen.put_nowait)
    for _ in range(2):
        (tmp_path / "later").mkdir()
        async with asyncio.timeout(PATIENCE):
            while watch.polls:
                await seen.get()
        (tmp_path / "later" / "file").write_text("")
        async with asyncio.timeout(PATIENCE):
            while await seen.get() != "file":
                pass
        (tmp_path / "later" / "file").unlink()
        (tmp_path / "later").rmdir()
    watch.close()


async def test_when_too_much_happened_everything_is_looked_at(tmp_path: Path) -> None:
    limit = int(await asyncio.to_thread(QUEUE.read_text))
    seen: list[str | None] = []
    watch = FolderWatch(trusted=lambda folder: True)
    quiet = tmp_path / "quiet"
    quiet.mkdir()
    told = asyncio.Event()
    watch.add(str(quiet), lambda name: told.set())
    watch.add(str(tmp_path), seen.append)
    for number in range(limit // 2 + 2):
        (tmp_path / str(number % 2)).write_text("")
        (tmp_path / str(number % 2)).unlink()
    await asyncio.wait_for(told.wait(), PATIENCE)
    assert None in seen
    watch.close()
