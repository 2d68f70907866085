"""`upcall mcp --ipc` in a process without the daemon's network and files, and a real daemon at the other side."""

import os
import signal
import subprocess
import sys

import pytest

from tests.doors.agent import INITIALIZE, MODERN, PATIENCE
from tests.files.conftest import Yard
from tests.files.news import is_gone, is_there, response, until
from upcall.home.instance import stop_running

CACHE = {"question": "Which cache?", "options": ["Redis", "Memcached"], "context": "For sessions."}


@pytest.mark.promise("spec/66")
def test_a_question_crosses_over_and_its_answer_wakes_the_agent(yard: Yard) -> None:
    agent = yard.container("--wait", "block", CLAUDE_CODE_SESSION_ID="s1", CLAUDE_PROJECT_DIR="/w")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    yard.answer(inquiry["ref"], "2")
    result = agent.reply(1)["result"]
    assert result["content"][0]["text"] == "The user answered: Memcached"
    assert result["structuredContent"].pop("waited_seconds") > 0
    assert result["structuredContent"] == {
        "status": "answered",
        "id": inquiry["id"],
        "ref": inquiry["ref"],
        "answers": [["Memcached"]],
        "message": "The user answered: Memcached",
    }
    assert not result["isError"]
    assert (inquiry["agent"], inquiry["session"], inquiry["workspace"]) == ("files:build", "s1", "/w")
    assert inquiry["context"] == "For sessions."
    until(yard.group / "taken", lambda: yard.files() == [] or None)


def test_the_folder_is_all_that_a_container_shares_with_the_daemon(yard: Yard) -> None:
    running = yard.daemon()
    look = (
        "import os, socket, sys\n"
        "print(os.listdir(sys.argv[1]))\n"
        "try:\n    socket.create_connection(('127.0.0.1', int(sys.argv[2])))\n"
        "except OSError as problem:\n    print(problem.strerror)\n"
    )
    command = yard.inside([sys.executable, "-c", look, str(yard.home.path), str(running.pipe_port)])
    seen = subprocess.run(command, capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines() == ["[]", "Network is unreachable"]


def test_what_needs_no_human_is_answered_without_a_daemon_in_both_eras(yard: Yard) -> None:
    stop_running(yard.home)
    older, newer = yard.container(), yard.container()
    hello = older.ask(1, "initialize", INITIALIZE)["result"]
    assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == ("2025-11-25", "upcall")
    tools = older.ask(2, "tools/list")["result"]["tools"]
    found = newer.ask(1, "server/discover", {"_meta": MODERN})["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert newer.ask(2, "tools/list", {"_meta": MODERN})["result"]["tools"] == tools
    assert [tool["name"] for tool in tools] == [
        "ask_human",
        "confirm_action",
        "wait_for_answer",
        "notify_human",
    ]
    assert yard.home.running() is None


def test_an_invalid_question_is_refused_at_once_without_a_daemon(yard: Yard) -> None:
    stop_running(yard.home)
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", {"question": "?", "options": [str(number) for number in range(11)]})
    result = agent.reply(1)["result"]
    assert result["isError"]
    assert "options: at most 10, got 11" in result["content"][0]["text"]
    assert yard.files() == []


def test_a_daemon_killed_between_task_and_answer_asks_once_and_answers_after_its_restart(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    yard.kill_daemon()
    yard.daemon()
    yard.answer(inquiry["ref"], "1")
    assert agent.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]
    assert yard.times_asked() == 1


def test_a_question_asked_while_there_is_no_daemon_waits_for_one(yard: Yard) -> None:
    stop_running(yard.home)
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    until(yard.group / "tasks", lambda: next((yard.group / "tasks").iterdir(), None))
    yard.daemon()
    yard.answer(yard.next_question()["ref"], "1")
    assert agent.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]


def test_a_container_that_is_killed_leaves_its_question_open_and_finds_the_response_later(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    [taken] = (yard.group / "taken").iterdir()
    agent.process.kill()
    agent.process.wait()
    assert yard.show(inquiry["id"])["state"] == "open"
    assert yard.answer(inquiry["ref"], "1")["accepted"]
    assert response(yard.group, taken.stem)["answers"] == [["Redis"]]
    later = yard.container()
    later.initialize()
    later.call(1, "wait_for_answer", {"id": taken.stem})
    assert later.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]
    later.call(2, "wait_for_answer", {"id": inquiry["ref"]})
    assert later.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]


def test_two_questions_at_once_each_get_their_own_answer(yard: Yard) -> None:
    agent, other = yard.container("--wait", "block"), yard.container("--wait", "block")
    agent.initialize()
    other.initialize()
    agent.call(1, "ask_human", {"question": "One?"})
    agent.call(2, "ask_human", {"question": "Two?"})
    other.call(1, "ask_human", {"question": "Three?"})
    for _ in range(3):
        inquiry = yard.next_question()
        yard.answer(inquiry["ref"], f"to {inquiry['questions'][0]['question']}")
    told = [agent.reply(1), agent.reply(2), other.reply(1)]
    assert [each["result"]["structuredContent"]["answers"] for each in told] == [
        [["to One?"]],
        [["to Two?"]],
        [["to Three?"]],
    ]


def test_a_slice_ends_parked_and_waiting_again_brings_the_answer(yard: Yard) -> None:
    agent = yard.container(UPCALL_SLICE="0.2")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    parked = agent.reply(1)["result"]
    inquiry = yard.next_question()
    assert parked["structuredContent"] == {
        "status": "parked",
        "id": inquiry["id"],
        "ref": inquiry["ref"],
        "message": parked["content"][0]["text"],
    }
    assert not parked["isError"]
    yard.answer(inquiry["ref"], "1")
    agent.call(2, "wait_for_answer", {"id": inquiry["id"]})
    assert agent.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]
    assert yard.times_asked() == 1


def test_an_approval_and_a_notice_cross_over_too(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "confirm_action", {"action": "rm -r build", "reason": "stale"})
    inquiry = yard.next_question()
    assert (inquiry["kind"], inquiry["context"]) == ("approval", "stale")
    yard.answer(inquiry["ref"], "no")
    denied = agent.reply(1)["result"]
    assert denied["structuredContent"]["answers"] == [["Deny"]]
    assert "Do not perform the action" in denied["content"][0]["text"]
    agent.call(2, "notify_human", {"message": "All done."})
    assert agent.reply(2)["result"]["structuredContent"]["status"] == "notified"
    events = yard.person.get("/v1/events", after=0)["items"]
    [notice] = [event["data"] for event in events if event["type"] == "notified"]
    assert (notice["agent"], notice["message"]) == ("files:build", "All done.")


def test_a_later_message_is_the_evidence_that_the_answer_arrived(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    yard.answer(inquiry["ref"], "1")
    agent.reply(1)
    assert yard.show(inquiry["id"])["answer"]["collected_at"] is None
    agent.ask(2, "ping")
    yard.happened("collected")
    assert yard.show(inquiry["id"])["answer"]["collected_at"]


def test_a_call_cancelled_before_a_daemon_took_it_leaves_nothing(yard: Yard) -> None:
    stop_running(yard.home)
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    task = until(yard.group / "tasks", lambda: next((yard.group / "tasks").iterdir(), None))
    agent.send("notifications/cancelled", {"requestId": 1})
    is_gone(task)
    agent.ask(2, "ping")
    assert not agent.has_reply(1)
    assert yard.files() == []


def test_a_call_taken_back_after_it_was_asked_leaves_the_question_open_and_no_response(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    [taken] = (yard.group / "taken").iterdir()
    agent.send("notifications/cancelled", {"requestId": 1})
    is_gone(taken)
    assert yard.show(inquiry["id"])["state"] == "open"
    yard.answer(inquiry["ref"], "1")
    agent.call(2, "notify_human", {"message": "One task later, so the first is over."})
    agent.reply(2)
    until(yard.group / "taken", lambda: yard.files() == [] or None)


def test_ending_the_container_withdraws_tasks_that_no_daemon_took(yard: Yard) -> None:
    stop_running(yard.home)
    for end in (signal.SIGTERM, signal.SIGINT, None):
        agent = yard.container("--wait", "block")
        agent.initialize()
        agent.call(1, "ask_human", CACHE)
        until(yard.group / "tasks", lambda: next((yard.group / "tasks").iterdir(), None))
        if end is None:
            assert agent.hang_up() == 0
        else:
            os.kill(agent.process.pid, end)
            assert agent.process.wait(PATIENCE) == 0
        assert yard.files() == []


def test_putting_upcall_down_parks_the_call_by_name(yard: Yard) -> None:
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    subprocess.run([sys.executable, "-m", "upcall", "down"], check=True, capture_output=True)
    parked = agent.reply(1)["result"]
    assert parked["structuredContent"] == {
        "status": "parked",
        "id": inquiry["id"],
        "ref": inquiry["ref"],
        "message": parked["content"][0]["text"],
    }
    assert yard.files() == []


def test_a_group_made_while_the_daemon_runs_is_served(yard: Yard) -> None:
    yard.group = yard.home.ipc_folder / "later"
    yard.group.mkdir()
    is_there(yard.group / "tasks")
    agent = yard.container("--wait", "block")
    agent.initialize()
    agent.call(1, "ask_human", CACHE)
    inquiry = yard.next_question()
    assert inquiry["agent"] == "files:later"
    yard.answer(inquiry["ref"], "1")
    assert "Redis" in agent.reply(1)["result"]["content"][0]["text"]
