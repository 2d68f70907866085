"""What waits: long polls and the event stream, over real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.web.house import CHOICE, House, code, serving, until
from upcall.domain.inquiry.inquiry import Origin
from upcall.stores import tail


@dataclass
class Frame:
    """One event of a stream, or a comment."""

    id: int | None = None
    event: str | None = None
    data: Any = None
    comment: str | None = None


class Stream:
    """A stream that is being read."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._frames = self._read()

    async def next(self) -> Frame:
        """The next frame of any kind."""
        with anyio.fail_after(10):
            return await anext(self._frames)

    async def event(self) -> Frame:
        """The next event."""
        while True:
            frame = await self.next()
            if frame.comment is None:
                return frame

    async def rest(self) -> list[Frame]:
        """Everything until its end."""
        with anyio.fail_after(10):
            return [frame async for frame in self._frames]

    async def _read(self) -> AsyncIterator[Frame]:
        frame = Frame()
        async for line in self.response.aiter_lines():
            if not line:
                yield frame
                frame = Frame()
            elif line.startswith(":"):
                frame.comment = line[1:].strip()
            else:
                name, _, value = line.partition(": ")
                setattr(
                    frame,
                    name,
                    int(value) if name == "id" else json.loads(value) if name == "data" else value,
                )


@asynccontextmanager
async def streaming(house: House, by: str, query: str = "", **headers: str) -> AsyncIterator[Stream]:
    async with house.as_(by).stream("GET", f"/v1/stream{query}", headers=headers) as response:
        assert response.status_code == 200
        yield Stream(response)


async def waiting(house: House, count: int = 1) -> None:
    await until(lambda: house.broker.waiting == count)


async def test_waiting_returns_the_answer_as_soon_as_there_is_one(live: House) -> None:
    asked = await live.asked()
    answered: dict[str, Any] = {}
    got: list[dict[str, Any]] = []

    async def wait(by: str) -> None:
        got.append((await live.as_(by).get(f"/v1/inquiries/{asked['ref']}/wait?timeout=10m")).json())

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, "builder")
            tasks.start_soon(wait, "ana")
            await waiting(live, 2)
            answered = await live.answered(asked["id"])
    assert got == [answered, answered]
    assert live.broker.waiting == 0


async def test_waiting_for_what_is_settled_returns_at_once(live: House) -> None:
    asked = await live.asked()
    rejected = (await live.post("ana", f"{asked['id']}/reject")).json()["inquiry"]
    assert (
        await live.as_("builder").get(f"/v1/inquiries/{asked['id']}/wait?timeout=3600")
    ).json() == rejected


@pytest.mark.promise("spec/163")
@pytest.mark.parametrize("timeout", ["0", "0.01", "0.01s"])
async def test_waiting_ends_after_its_timeout_with_the_open_inquiry(live: House, timeout: str) -> None:
    asked = await live.asked()
    response = await live.as_("builder").get(f"/v1/inquiries/{asked['id']}/wait?timeout={timeout}")
    assert (response.status_code, response.json()) == (200, asked)


async def test_a_client_that_hangs_up_stops_waiting(live: House) -> None:
    asked = await live.asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.as_("builder").get, f"/v1/inquiries/{asked['id']}/wait?timeout=3600")
        await waiting(live)
        tasks.cancel_scope.cancel()
    await waiting(live, 0)
    assert (await live.answered(asked["id"]))["state"] == "answered"


async def test_a_revoked_token_does_not_get_the_answer_it_waited_for(live: House) -> None:
    asked = await live.asked()
    got: list[httpx2.Response] = []

    async def wait() -> None:
        got.append(await live.as_("builder").get(f"/v1/inquiries/{asked['id']}/wait?timeout=3600"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await waiting(live)
        await live.as_("root").delete("/v1/tokens/builder")
        await live.answered(asked["id"])
    assert code(got[0]) == (401, "unauthenticated")


@pytest.mark.promise("spec/169")
async def test_closing_the_broker_settles_every_waiter_and_lets_the_server_stop(house: House) -> None:
    got: dict[str, Any] = {}
    asked: dict[str, Any] = {}

    async def wait() -> None:
        response = await house.as_("builder").get(f"/v1/inquiries/{asked['id']}/wait?timeout=3600")
        got["wait"] = (response.status_code, response.json())

    async def poll() -> None:
        after = await house.store.last_seq()
        got["events"] = (await house.as_("ana").get(f"/v1/events?after={after}&wait=300")).json()

    async def follow(ready: anyio.Event) -> None:
        async with streaming(house, "ana") as stream:
            await stream.next()
            ready.set()
            got["stream"] = [frame.event for frame in await stream.rest()]

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, serving(house):
            asked = await house.asked()
            ready = anyio.Event()
            tasks.start_soon(wait)
            tasks.start_soon(poll)
            tasks.start_soon(follow, ready)
            await ready.wait()
            await waiting(house)
    assert got["wait"] == (200, asked)
    assert got["events"] == {"items": [], "next_after": 1}
    assert set(got["stream"]) <= {None}


async def test_a_stream_ends_at_once_and_not_only_at_its_next_comment(tmp_path: Path) -> None:
    async with (
        House.open(tmp_path, heartbeat=3600) as house,
        serving(house),
        streaming(house, "ana") as stream,
    ):
        await stream.next()
        await house.broker.close()
        assert await stream.rest() == []


async def test_events_come_in_order_with_where_to_go_on(house: House) -> None:
    asked = await house.asked()
    await house.post("ana", f"{asked['id']}/snooze", **{"for": "1h"})
    await house.answered(asked["id"])
    page = (await house.as_("ana").get("/v1/events?after=0")).json()
    assert [(item["seq"], item["type"]) for item in page["items"]] == [
        (1, "asked"),
        (2, "snoozed"),
        (3, "answered"),
    ]
    assert {item["inquiry"] for item in page["items"]} == {asked["id"]}
    assert page["items"][0]["at"] == "2027-01-15T08:00:00.000Z"
    assert page["items"][1]["data"] == {"by": "ana", "until": "2027-01-15T09:00:00.000Z"}
    assert page["next_after"] == 3
    assert (await house.as_("ana").get("/v1/events?after=3")).json() == {"items": [], "next_after": 3}
    assert len((await house.as_("ana").get("/v1/events?after=0&limit=2")).json()["items"]) == 2


async def test_a_reader_behind_a_pruned_log_is_told_to_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail.Tail.__init__, "__kwdefaults__", {"max_events": 1, "max_weight": 1})
    async with House.open(tmp_path) as house, serving(house):
        await house.answered((await house.asked())["id"])
        house.clock.now += 86400
        await house.asked()
        await house.asked()
        assert await house.store.prune(house.clock.now, 100) == 3
        for after in (0, 1):
            page = (await house.as_("ana").get(f"/v1/events?after={after}")).json()
            assert page["reset"] is True
            assert [item["seq"] for item in page["items"]] == [3, 4]
        assert "reset" not in (await house.as_("ana").get("/v1/events?after=2")).json()
        async with streaming(house, "ana", "?after=1") as stream:
            frames = [await stream.event() for _ in range(3)]
        assert [frame.event for frame in frames] == ["reset", "asked", "asked"]
        assert frames[0].id == 2


async def test_polling_waits_for_the_next_event(live: House) -> None:
    got: list[Any] = []

    async def poll() -> None:
        got.append((await live.as_("ana").get("/v1/events?after=0&wait=5m")).json())

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poll)
            await live.asked()
    assert [item["type"] for item in got[0]["items"]] == ["asked"]


async def test_a_number_ahead_of_the_log_goes_on_with_what_is_new(house: House) -> None:
    await house.asked()
    assert (await house.as_("ana").get("/v1/events?after=999")).json() == {"items": [], "next_after": 1}


async def _mixed_log(house: House) -> list[int]:
    """Events of two agents, woven; the numbers are those of the first."""
    ours = await house.asked("builder")
    theirs = await house.asked("painter")
    for asked in (theirs, ours):
        await house.post("ana", f"{asked['id']}/snooze", **{"for": "1h"})
    for asked in (ours, theirs):
        await house.answered(asked["id"])
    await house.broker.notify("painted", Origin(agent="painter", session="s", door="http"))
    await house.broker.notify("built", Origin(agent="builder", session="s", door="http"))
    return [1, 4, 5, 8]


async def test_an_agent_reads_only_its_own_events_from_memory(house: House) -> None:
    own = await _mixed_log(house)
    page = (await house.as_("builder").get("/v1/events")).json()
    assert [item["seq"] for item in page["items"]] == own
    assert page["next_after"] == 8
    assert len((await house.as_("ana").get("/v1/events")).json()["items"]) == 8


async def test_an_agent_reads_only_its_own_events_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The newest events are kept in memory together with their inquiries; this leaves next to none of them there.
    monkeypatch.setattr(tail.Tail.__init__, "__kwdefaults__", {"max_events": 1, "max_weight": 1})
    async with House.open(tmp_path) as house:
        own = await _mixed_log(house)
        assert all(event.subject is None for event in await house.store.events(0))
        page = (await house.as_("builder").get("/v1/events?after=0")).json()
        assert [item["seq"] for item in page["items"]] == own


async def test_polling_agents_are_not_woken_by_the_events_of_others(live: House) -> None:
    got: list[Any] = []
    own: dict[str, Any] = {}

    async def poll() -> None:
        got.append((await live.as_("builder").get("/v1/events?after=0&wait=60")).json())

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poll)
            await live.asked("painter")
            own = await live.asked("builder")
    assert [item["inquiry"] for item in got[0]["items"]] == [own["id"]]
    assert got[0]["next_after"] == 2


async def test_a_stream_starts_now_with_a_comment_and_then_tells_each_event(live: House) -> None:
    await live.asked()
    async with streaming(live, "ana") as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        assert stream.response.headers["cache-control"] == "no-store"
        assert (await stream.next()).comment
        asked = await live.asked(**CHOICE, context="line\nbreak\r\nand ünïcödé")
        await live.answered(asked["id"])
        first, second = await stream.event(), await stream.event()
    assert (first.id, first.event, second.id, second.event) == (2, "asked", 3, "answered")
    assert first.data == {
        "seq": 2,
        "type": "asked",
        "inquiry": asked["id"],
        "at": "2027-01-15T08:00:00.000Z",
        "data": {"ref": asked["ref"], "kind": "ask_user_question", "agent": "builder", "session": "builder"},
    }


async def test_a_silent_stream_is_kept_alive_with_comments(live: House) -> None:
    async with streaming(live, "ana") as stream:
        assert [bool((await stream.next()).comment) for _ in range(3)] == [True] * 3


async def test_a_stream_of_an_agent_is_kept_alive_though_others_are_busy(live: House) -> None:
    async with streaming(live, "builder") as stream, anyio.create_task_group() as tasks:

        async def busy() -> None:
            while True:
                await live.asked("painter")

        await stream.next()
        tasks.start_soon(busy)
        assert (await stream.next()).comment
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["header", "query"])
async def test_a_stream_resumes_without_loss_or_duplicates(live: House, how: str) -> None:
    seen: list[int] = []
    for _ in range(4):
        resume = {"query": f"?after={seen[-1]}"} if how == "query" and seen else {}
        headers = {"Last-Event-ID": str(seen[-1])} if how == "header" and seen else {}
        async with streaming(live, "ana", **resume, **headers) as stream:
            await stream.next()
            # Some come while it is connected, others while it is not.
            await live.asked()
            await live.asked()
            seen.append((await stream.event()).id or 0)
        await live.asked()
    async with streaming(live, "ana", **{"Last-Event-ID": str(seen[-1])}) as stream:
        while seen[-1] < 12:
            seen.append((await stream.event()).id or 0)
    assert seen == list(range(1, 13))


async def test_the_header_of_a_reconnecting_browser_wins_over_the_address(live: House) -> None:
    for _ in range(3):
        await live.asked()
    async with streaming(live, "ana", "?after=0", **{"Last-Event-ID": "2"}) as stream:
        assert (await stream.event()).id == 3


async def test_a_stream_catches_up_with_what_is_only_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail.Tail.__init__, "__kwdefaults__", {"max_events": 1, "max_weight": 1})
    async with House.open(tmp_path) as house, serving(house):
        own = await _mixed_log(house)
        async with streaming(house, "builder", "?after=0") as stream:
            assert [(await stream.event()).id for _ in own] == own


async def test_an_agents_stream_never_tells_of_others(live: House) -> None:
    async with streaming(live, "builder") as stream:
        await stream.next()
        own = await _mixed_log(live)
        assert [(await stream.event()).id for _ in own] == own


async def test_a_revoked_token_ends_its_stream(live: House) -> None:
    async with streaming(live, "ben") as stream:
        await stream.next()
        await live.as_("root").delete("/v1/tokens/ben")
        await live.asked()
        assert all(frame.event is None for frame in await stream.rest())


async def test_many_streams_that_hang_up_leave_nothing_behind(live: House) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(10):
        async with streaming(live, "ana") as stream:
            await stream.next()
    await until(lambda: len(asyncio.all_tasks()) <= before)
