"""Watching a LangGraph server: what is put to a person, taken back and tried again."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

import upcall
from tests.client.program import Crew
from tests.web.house import until
from upcall.broker.pacing import Pacing
from upcall.client.bridges.langgraph_http import Server
from upcall.client.bridges.langgraph_server import Watcher, serve


class Graphs:
    """A stand-in for the server: threads that wait, and what it was told to run."""

    def __init__(self) -> None:
        self.threads: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.status = 200
        self.busy = 0

    def interrupt(self, value: Any, name: str = "t1", at: str = "i1") -> None:
        asked = {"task": [{"id": at, "value": value}]}
        known = {"graph_id": "agent", "assistant_id": "a1"}
        thread = {"thread_id": name, "metadata": known, "interrupts": asked}
        self.threads.append({**thread, "config": {"configurable": {"flavour": "mint"}}})

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if self.status != 200:
            return httpx2.Response(self.status, text="not now")
        match request.method, request.url.path.split("/")[1:]:
            case "POST", ["threads", "search"]:
                return httpx2.Response(200, json=self.threads)
            case "GET", ["threads", name]:
                (thread,) = [each for each in self.threads if each["thread_id"] == name]
                return httpx2.Response(200, json=thread)
            case _:
                if self.busy:
                    self.busy -= 1
                    return httpx2.Response(409, text="a run is at work")
                self.runs.append(json.loads(request.content))
                self.threads = []
                return httpx2.Response(200, json={})


class Watch:
    """A watcher of the stand-in, which looks when the test says so."""

    def __init__(self, server: Graphs, watcher: Watcher, lines: list[str]) -> None:
        self.server = server
        self.lines = lines
        self._watcher = watcher

    async def look(self) -> None:
        self._watcher.look(await self._watcher.server.interrupted())


@pytest.fixture
async def watch(crew: Crew) -> AsyncIterator[Watch]:
    async with watching(crew) as found:
        yield found


@asynccontextmanager
async def watching(crew: Crew) -> AsyncIterator[Watch]:
    graphs, lines = Graphs(), list[str]()
    async with (
        httpx2.AsyncClient(base_url="http://graphs", transport=httpx2.MockTransport(graphs)) as http,
        anyio.create_task_group() as tasks,
    ):
        server = Server(http)
        watcher = Watcher(server=server, broker=crew.asker, waiting={}, tell=lines.append, tasks=tasks)
        yield Watch(graphs, watcher, lines)
        tasks.cancel_scope.cancel()


async def test_a_thread_is_resumed_once_with_what_the_person_said(crew: Crew, watch: Watch) -> None:
    watch.server.interrupt({"question": "Which cache?", "options": ["Redis", "Memcached"]})

    await watch.look()
    inquiry = await crew.the_open_one()
    await watch.look()
    await crew.said(inquiry["ref"], "Redis")
    await until(lambda: "thread t1: resumed" in watch.lines)
    await watch.look()

    assert (inquiry["session"], inquiry["request_key"]) == ("t1", "langgraph-t1-i1")
    assert watch.server.runs == [
        {
            "assistant_id": "a1",
            "command": {"resume": {"i1": "Redis"}},
            "multitask_strategy": "reject",
            "config": {"configurable": {"flavour": "mint"}},
        }
    ]
    assert watch.lines == [f"thread t1: asked {inquiry['ref']}", "thread t1: resumed"]


async def test_the_question_of_a_thread_that_went_on_elsewhere_is_withdrawn(crew: Crew, watch: Watch) -> None:
    watch.server.interrupt("Which cache?")
    await watch.look()
    inquiry = await crew.the_open_one()

    watch.server.threads = []
    await watch.look()
    await until(lambda: "thread t1: went on elsewhere" in watch.lines)

    with anyio.fail_after(30):
        ended = await crew.asker.wait(inquiry["ref"])
    assert isinstance(ended, upcall.Cancelled)
    assert watch.server.runs == []


async def test_an_answer_to_a_thread_that_another_has_just_resumed_changes_nothing(
    crew: Crew, watch: Watch
) -> None:
    watch.server.interrupt("Which cache?")
    await watch.look()
    inquiry = await crew.the_open_one()

    watch.server.threads[0]["interrupts"] = {}
    await crew.said(inquiry["ref"], "Redis")
    await until(lambda: crew.house.broker.waiting == 0)
    await anyio.wait_all_tasks_blocked()

    assert watch.server.runs == []


async def test_a_watcher_that_ends_leaves_its_questions_and_the_next_one_has_the_answer(crew: Crew) -> None:
    async with watching(crew) as first:
        first.server.interrupt("Which cache?")
        await first.look()
        inquiry = await crew.the_open_one()
    assert (await crew.ana.get(inquiry["ref"]))["state"] == "open"
    await crew.said(inquiry["ref"], "Redis")

    async with watching(crew) as second:
        second.server.interrupt("Which cache?")
        await second.look()
        await until(lambda: bool(second.server.runs))

    assert second.server.runs[0]["command"] == {"resume": {"i1": "Redis"}}


async def test_an_answer_is_kept_while_the_server_does_not_take_it(crew: Crew, watch: Watch) -> None:
    watch.server.interrupt("Which cache?")
    await watch.look()
    inquiry = await crew.the_open_one()

    watch.server.status = 503
    await crew.said(inquiry["ref"], "Redis")
    await until(lambda: len(watch.lines) == 2)
    assert "503" in watch.lines[1]
    watch.server.status = 200
    await watch.look()
    await until(lambda: bool(watch.server.runs))

    assert watch.server.runs[0]["command"] == {"resume": {"i1": "Redis"}}


async def test_a_value_that_cannot_be_asked_is_said_once_and_stops_no_other_thread(
    crew: Crew, watch: Watch
) -> None:
    watch.server.interrupt({"question": "", "options": []})
    watch.server.interrupt("Which cache?", "t2")

    await watch.look()
    await until(lambda: len(watch.lines) == 2)
    await watch.look()

    inquiry = await crew.the_open_one()
    assert sorted(watch.lines)[1] == f"thread t2: asked {inquiry['ref']}"
    assert len(watch.lines) == 2


async def test_an_answer_that_came_while_another_run_was_at_work_is_not_lost(
    crew: Crew, watch: Watch
) -> None:
    watch.server.interrupt("Which cache?")
    watch.server.busy = 1
    await watch.look()
    inquiry = await crew.the_open_one()
    await crew.said(inquiry["ref"], "Redis")
    await until(lambda: not watch.server.busy)
    await anyio.wait_all_tasks_blocked()

    await watch.look()
    await until(lambda: bool(watch.server.runs))
    assert watch.server.runs[0]["command"] == {"resume": {"i1": "Redis"}}


async def test_a_thread_that_is_asked_about_too_fast_is_asked_about_later(
    crew: Crew, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    pacing = Pacing(per_second=0.001, burst=1)
    pacing.spend("builder", crew.house.broker.now())
    watch.server.interrupt("Which cache?")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(crew.house.broker, "_pacing", pacing)
        await watch.look()
        await until(lambda: len(watch.lines) == 1)

    await watch.look()
    assert (await crew.the_open_one())["questions"][0]["question"] == "Which cache?"


@pytest.mark.parametrize(
    "value",
    (
        {"action_requests": [{"args": {}}], "review_configs": []},
        {"action_requests": [{"name": "sh", "args": "ls"}], "review_configs": [{"action_name": "sh"}]},
        {"action_request": {}, "config": {"allow_accept": True}},
        [{"action_request": {"action": "sh"}, "config": {"allow_accept": True}}, "and more"],
    ),
)
async def test_a_value_of_an_unknown_form_is_a_question_and_stops_no_other_thread(
    crew: Crew, watch: Watch, value: Any
) -> None:
    watch.server.interrupt(value)
    await watch.look()
    inquiry = await crew.the_open_one()
    assert inquiry["questions"][0]["question"] == "The graph waits for a person."


async def test_a_server_that_is_not_there_is_said_at_the_start() -> None:
    with pytest.raises(upcall.errors.RunFailed, match="no LangGraph server replies at"):
        await serve("http://127.0.0.1:1")
