"""The design "Ask-User Blocking: Channel-Routed Agent Questions", sentence by sentence; each test quotes its own."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.channels.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.cli.conftest import Done, Program
from tests.files.conftest import Yard
from tests.files.door import Served
from tests.files.news import put_task, response, until
from upcall.cli.client import Client
from upcall.config.settings import Config
from upcall.domain.inquiry.inquiry import Kind
from upcall.doors.files.folder_watch import FolderWatch
from upcall.home.files import Home
from upcall.home.instance import stop_running
from upcall.testing.channel_house import Message

SETTINGS = """
preset = "pynchy"
inbox = false
block_timeout = "{block_timeout}"

[channels.slack]
bot_token = "$BOT"
app_token = "$APP"
api_url = "{url}"

[[routes]]
to = ["slack:C1"]

[agents.builder]
adapter = "command"
start = [{program}, "start", "{{task}}"]
resume = [{program}, "resume", "{{session}}"]
resume_file = "initial.json"
session_pattern = "session: (\\\\S+)"
group = "build"
"""
CACHE: dict[str, Any] = {
    "question": "Which auth?",
    "options": ["JWT tokens", "Session cookies"],
    "multiSelect": False,
}


@pytest.mark.promise("pynchy/4")
def test_writes_task_to_ipc_tasks(yard: Yard) -> None:
    """Claude calls ask_user MCP tool → writes task to ipc/tasks/."""
    stop_running(yard.home)
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    path = until(yard.group / "tasks", lambda: next((yard.group / "tasks").iterdir(), None))
    task = json.loads(path.read_text())
    assert (task["type"], f"{task['request_id']}.json") == ("ask_user", path.name)
    assert task["questions"] == [CACHE]


@pytest.mark.promise("pynchy/2", "pynchy/10", "pynchy/45")
def test_blocks_until_the_user_responds(yard: Yard) -> None:
    """Routes questions […] and blocks until the user responds.

    IPC watcher picks up task → stores PendingQuestion in DB […] → writes ipc/responses/{id}.json;
    watchdog fires, Event set ← returns answer to Claude.
    """
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    agent.ask(2, "ping")
    assert not agent.has_reply(1)
    yard.answer(inquiry["ref"], "1")
    assert agent.reply(1)["result"]["content"][0]["text"] == "The user answered: JWT tokens"
    assert yard.show(inquiry["id"])["state"] == "answered"


@pytest.mark.promise("pynchy/5", "pynchy/16")
async def test_watches_the_responses_instead_of_polling(served: Served) -> None:
    """Uses watchdog `Observer` on `ipc/responses/` directory instead of polling."""
    seen: asyncio.Queue[str | None] = asyncio.Queue()
    watch = FolderWatch(trusted=lambda folder: True)
    watch.add(str(served.group / "responses"), seen.put_nowait)
    put_task(served.group, "r1", timeout=0.05)
    assert await seen.get() == "r1.json"
    # No timer runs: nothing would be looked at without news.
    assert not watch.polls
    watch.close()


@pytest.mark.promise("pynchy/18")
def test_configurable_timeout_cap() -> None:
    """Configurable timeout cap (default 30 min)."""
    assert Config().block_timeout == 30 * 60


@pytest.mark.promise("pynchy/3", "pynchy/19")
def test_returns_timeout_message_on_expiry(yard: Yard) -> None:
    """Returns timeout message on expiry."""
    agent = yard.container("--wait", "block", UPCALL_BLOCK_TIMEOUT="0.2")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    told = agent.reply(1)["result"]
    assert told["structuredContent"]["status"] == "parked"
    assert told["content"][0]["text"].startswith("No answer yet.")


@pytest.mark.promise("pynchy/20")
def test_cleans_up_in_every_case(yard: Yard) -> None:
    """Cleans up observer in `finally` block."""
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    yard.next_question()
    agent.send("notifications/cancelled", {"requestId": 1})
    until(yard.group / "taken", lambda: yard.files() == [] or None)


@pytest.mark.promise("pynchy/6", "pynchy/28")
def test_pending_questions_survive_host_restarts(yard: Yard) -> None:
    """Persisted in DB (not in-memory) so pending questions survive host restarts."""
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    yard.kill_daemon()
    yard.daemon()
    assert yard.show(inquiry["id"])["state"] == "open"
    yard.answer(inquiry["ref"], "2")
    assert agent.reply(1)["result"]["structuredContent"]["answers"] == [["Session cookies"]]
    assert yard.times_asked() == 1


@pytest.mark.promise("pynchy/21", "pynchy/30", "pynchy/44")
async def test_the_request_id_of_the_task_links_to_the_response_file(served: Served) -> None:
    """`request_id`: From the IPC task (links to response file). Parse task payload (request_id, questions)."""
    put_task(served.group, "from-the-task", questions=[CACHE])
    [inquiry] = await served.open()
    assert inquiry.origin.request_key == "from-the-task"
    await served.answer(inquiry, "1")
    told = await asyncio.to_thread(response, served.group, "from-the-task")
    assert (told["request_id"], told["answers"]) == ("from-the-task", [["JWT tokens"]])


@pytest.mark.promise("pynchy/34")
async def test_nothing_is_written_to_responses_before_the_answer(served: Served) -> None:
    """Do NOT write to `ipc/responses/` — response comes later from channel callback."""
    put_task(served.group, "r1")
    await served.open()
    assert list((served.group / "responses").iterdir()) == []


async def test_an_error_is_written_immediately_so_the_agent_is_not_stuck(served: Served) -> None:
    """Host writes error to `ipc/responses/` immediately so the agent isn't stuck.

    Here because it makes no sense; below because no channel takes it.
    """
    put_task(served.group, "r1", questions=[{"question": "?", "options": ["twice", "twice"]}])
    told = await asyncio.to_thread(response, served.group, "r1")
    assert (told["status"], told["error"]["code"]) == ("error", "invalid_inquiry")
    assert await served.asked() == []


@pytest.mark.promise("pynchy/11", "pynchy/47")
def test_a_question_whose_container_is_dead_stays_pending(yard: Yard) -> None:
    """If the container was destroyed before the user responds: […] still `pending`."""
    agent = yard.container("--wait", "block", CLAUDE_CODE_SESSION_ID="session-1")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    agent.process.kill()
    agent.process.wait()
    assert (yard.show(inquiry["id"])["state"], inquiry["session"]) == ("open", "session-1")


@pytest.mark.promise("pynchy/54")
def test_once_answered_the_response_is_final(yard: Yard) -> None:
    """Editing answers: Once answered, the response is final."""
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    yard.answer(inquiry["ref"], "1")
    assert yard.answer(inquiry["ref"], "2")["accepted"] is False
    assert agent.reply(1)["result"]["structuredContent"]["answers"] == [["JWT tokens"]]


class Room(Program):
    """A home under the preset, with a group `build`, and a Slack that lives in this process as its only route."""

    def __init__(self, slack: FakeSlack, folder: Path, block_timeout: str) -> None:
        super().__init__(folder / "home")
        self.slack = slack
        self.work = folder / "work"
        self.work.mkdir()
        self.group = self.home / "ipc" / "build"
        self.environment |= {"BOT": BOT_TOKEN, "APP": APP_TOKEN}
        self.home.mkdir(mode=0o700)
        program = json.dumps([sys.executable, str(Path(__file__).with_name("container.py")), str(self.group)])
        (self.home / "upcall.toml").write_text(
            SETTINGS.format(url=slack.url, program=program[1:-1], block_timeout=block_timeout)
        )

    async def run(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self(*words))

    async def up(self) -> None:
        """Start a daemon with a person who may answer in Slack."""
        code = (await self.run("people", "add", "ana")).stdout.strip()
        await self.slack.until(self.slack.listening)
        await self.slack.write(self.slack.known, code)
        await self.slack.until(lambda: bool(self.slack.told(self.slack.known)))

    async def shown(self) -> Message:
        """The widget, once there is one."""
        await self.slack.until(lambda: bool(self.slack.messages()))
        return self.slack.messages()[-1]

    async def pending(self, state: str = "open") -> dict[str, Any]:
        """The only question, as the API tells it."""
        person = Client(home=Home(self.home))
        page = await anyio.to_thread.run_sync(lambda: person.get("/v1/inquiries", state=state))
        person.hang_up()
        (found,) = page["items"]
        inquiry: dict[str, Any] = found
        return inquiry


@asynccontextmanager
async def a_room(folder: Path, block_timeout: str = "30m") -> AsyncIterator[Room]:
    async with FakeSlack().served() as slack:
        room = Room(slack, folder, block_timeout)
        try:
            await room.up()
            yield room
        finally:
            await room.run("down")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with a_room(tmp_path) as room:
        yield room


@pytest.mark.promise(
    "pynchy/7",
    "pynchy/8",
    "pynchy/9",
    "pynchy/22",
    "pynchy/23",
    "pynchy/24",
    "pynchy/25",
    "pynchy/26",
    "pynchy/27",
    "pynchy/31",
    "pynchy/32",
    "pynchy/33",
    "pynchy/37",
    "pynchy/43",
    "pynchy/46",
)
async def test_a_task_becomes_a_widget_and_the_click_becomes_a_response(room: Room) -> None:
    """Calls channel.send_ask_user() → Block Kit widget; on_ask_user_response() → writes ipc/responses/{id}.json.

    Every column of the pending store is in the API on the way.
    """
    group = room.home / "ipc" / "docs"
    put_task(group, "r1", questions=[CACHE], session="s-1")
    widget = await room.shown()
    pending = await room.pending()
    assert (pending["request_key"], pending["agent"], pending["session"]) == ("r1", "files:docs", "s-1")
    assert pending["questions"][0]["question"] == "Which auth?"
    assert [option["label"] for option in pending["questions"][0]["options"]] == CACHE["options"]
    assert pending["asked_at"]
    # The click names the block of this question, and nothing else would answer it.
    await room.slack.answer(room.slack.known, widget.name, [["JWT tokens"]])
    told = await anyio.to_thread.run_sync(response, group, "r1")
    assert (told["status"], told["answers"]) == ("answered", [["JWT tokens"]])
    await room.slack.until(lambda: "Answered: JWT tokens" in room.slack.messages()[-1].text)
    answered = await room.pending("answered")
    (delivery,) = answered["delivery"]
    assert answered["id"] == pending["id"]
    assert (delivery["channel"], delivery["place"], delivery["message_id"]) == ("slack", "C1", widget.name)


@pytest.mark.promise("pynchy/42", "spec/87")
async def test_where_no_channel_can_ask_the_agent_is_told_at_once(room: Room) -> None:
    """`send_ask_user` not implemented → host writes error to `ipc/responses/` immediately so the agent isn't stuck."""
    room.slack.fail("refused")
    put_task(room.group, "r1", questions=[CACHE])
    told = await anyio.to_thread.run_sync(response, room.group, "r1")
    assert (told["status"], told["answers"]) == ("failed", None)
    assert "no person could be asked: slack:C1" in told["text"]


@pytest.mark.promise(
    "pynchy/12",
    "pynchy/13",
    "pynchy/14",
    "pynchy/48",
    "pynchy/49",
    "pynchy/50",
    "pynchy/51",
    "pynchy/52",
)
async def test_a_late_answer_starts_the_container_again_with_its_answer(tmp_path: Path) -> None:
    """Timeout behavior: Cap + destroy container. Late-answer delivery: Cold-start immediately.

    `"You previously asked: [question]. The user answered: [answer]. Continue."` in `initial.json`.
    """
    async with a_room(tmp_path, block_timeout="1s") as room:
        begun = await room.run("run", "builder", "add a login", "--cwd", str(room.work))
        assert begun.returncode == 0, begun.stderr
        widget = await room.shown()
        ended = await anyio.to_thread.run_sync(until, room.work, partial(_lines, room.work / "ended", 1))
        assert ended == ["ended"]
        assert (await room.pending())["run"] == 1
        await room.slack.answer(room.slack.known, widget.name, [["Session cookies"]])
        (told,) = await anyio.to_thread.run_sync(until, room.work, partial(_lines, room.work / "told", 1))
        assert json.loads(told) == {
            "argv": ["resume", "s-42"],
            "initial": {
                "session_id": "s-42",
                "message": "You previously asked: Which auth?. The user answered: Session cookies. Continue.",
            },
        }
        await room.slack.until(lambda: "Answered: Session cookies" in room.slack.messages()[-1].text)
        assert (await room.pending("answered"))["run"] == 1


def _lines(path: Path, count: int) -> list[str] | None:
    lines = path.read_text().splitlines() if path.exists() else []
    return lines if len(lines) >= count else None


@pytest.mark.promise("pynchy/15", "spec/59")
def test_the_tool_is_called_ask_user_and_takes_what_the_built_in_one_takes(yard: Yard) -> None:
    """New `ask_user` MCP tool with same semantics as `AskUserQuestion` (question text, options list, multiSelect)."""
    agent = yard.container("--wait", "block", UPCALL_PRESET="pynchy")
    agent.initialize()
    tools = {tool["name"] for tool in agent.ask(7, "tools/list")["result"]["tools"]}
    assert {"ask_user", "ask_human"} <= tools
    agent.call(1, "ask_user", {"questions": [{**CACHE, "multiSelect": True}]})
    inquiry = yard.next_question()
    yard.answer(inquiry["ref"], "1, 2")
    assert agent.reply(1)["result"]["structuredContent"]["answers"] == [["JWT tokens", "Session cookies"]]


@pytest.mark.promise("pynchy/29")
async def test_a_question_is_no_action_that_somebody_has_to_approve(served: Served) -> None:
    """Asking the user a question is not a service write, so the security policy middleware does not apply."""
    put_task(served.group, "r1", questions=[CACHE])
    (inquiry,) = await served.open()
    assert (inquiry.kind, inquiry.subject) == (Kind.CHOICE, None)
