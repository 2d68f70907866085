"""The design "Ask-User Blocking: Channel-Routed Agent Questions", sentence by sentence, as far as it holds by now.

Each test quotes its sentences. Not claimed here, because not there yet: channels and their widgets, the tool under the
name `ask_user`, the pending store under the columns of the design, and late answers that start a container again.
"""

import asyncio
import json

import pytest

from tests.files.conftest import Yard
from tests.files.door import Served
from tests.files.news import put_task, response, until
from upcall.config import Config
from upcall.doors.folder_watch import FolderWatch
from upcall.instance import stop_running

CACHE = {"question": "Which auth?", "options": ["JWT tokens", "Session cookies"], "multiSelect": False}


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

    So far for a question that cannot be asked; there are no channels yet that could be unsupported.
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
