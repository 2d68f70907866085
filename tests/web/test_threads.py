"""Threads over HTTP: who may do what in a conversation, in which order it comes, and what it refuses."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.web.house import CHOICE, House, code
from tests.web.test_openapi import check, schema_of
from upcall.broker.broker import Policy, Reply, Settled
from upcall.broker.pacing import Pacing
from upcall.broker.threads import Threads
from upcall.domain.roles import Caller, Role
from upcall.domain.thread.thread import ThreadRules
from upcall.ports.store import Event

ITEMS = "/v1/threads/{name}/items"


async def begun(house: House, name: str = "t1", by: str = "builder", **body: Any) -> dict[str, Any]:
    response = await house.as_(by).post("/v1/threads", json={"id": name, **body})
    assert response.status_code == 201, response.text
    check(schema_of("/v1/threads", "post", 201), response.json())
    document: dict[str, Any] = response.json()
    return document


async def items(house: House, name: str = "t1", by: str = "ana", query: str = "") -> list[dict[str, Any]]:
    response = await house.as_(by).get(f"/v1/threads/{name}/items{query}")
    assert response.status_code == 200, response.text
    check(schema_of(ITEMS, "get", 200), response.json())
    found: list[dict[str, Any]] = response.json()["items"]
    return found


async def post(house: House, by: str, path: str = "t1/items", **body: Any) -> httpx2.Response:
    return await house.as_(by).post(f"/v1/threads/{path}", json=body)


async def said(house: House, by: str, text: str, **body: Any) -> dict[str, Any]:
    response = await post(house, by, text=text, **body)
    assert response.status_code == 201, response.text
    check(schema_of(ITEMS, "post", 201), response.json())
    told: dict[str, Any] = response.json()
    return told


def types(found: list[dict[str, Any]]) -> list[str]:
    return [item["metadata"]["type"] for item in found]


async def thread_of(house: House, name: str = "t1") -> dict[str, Any]:
    found: dict[str, Any] = (await house.as_("ana").get(f"/v1/threads/{name}")).json()
    check(schema_of("/v1/threads/{name}", "get", 200), found)
    return found


async def test_a_thread_is_begun_once_and_listed(house: House) -> None:
    made = await begun(house, title="The shop")
    again = await house.as_("builder").post("/v1/threads", json={"id": "t1", "title": "Another"})
    assert (again.status_code, again.json()) == (200, made)
    await begun(house, "t2", by="root", agent="painter")
    listed = (await house.as_("ana").get("/v1/threads")).json()
    check(schema_of("/v1/threads", "get", 200), listed)
    assert {each["id"] for each in listed["items"]} == {"t1", "t2"}
    own = (await house.as_("painter").get("/v1/threads")).json()
    assert [each["id"] for each in own["items"]] == ["t2"]


async def test_another_agents_thread_is_unknown(house: House) -> None:
    await begun(house)
    painter = house.as_("painter")
    assert code(await painter.get("/v1/threads/t1")) == (404, "unknown_thread")
    assert code(await painter.get("/v1/threads/t1/items")) == (404, "unknown_thread")
    assert code(await post(house, "painter", text="hello")) == (404, "unknown_thread")
    assert code(await painter.post("/v1/threads", json={"id": "t1"})) == (404, "unknown_thread")
    assert code(await painter.post("/v1/threads", json={"agent": "builder"})) == (403, "unknown_agent")
    assert code(await painter.post("/v1/inquiries", json={**CHOICE, "thread": "t1"})) == (
        404,
        "unknown_thread",
    )
    assert code(await painter.post("/v1/threads/t1/turn")) == (404, "unknown_thread")
    assert await items(house) == []


async def test_asking_in_a_thread_begins_it_and_posts_the_prompt(house: House) -> None:
    asked = await house.asked(**CHOICE, thread="new")
    assert (asked["state"], asked["queued"]) == ("open", False)
    (item,) = await items(house, "new")
    assert item["metadata"]["prompt"]["prompt_id"] == f"prm_{asked['id']}"
    assert (await thread_of(house, "new"))["prompt"]["ref"] == asked["ref"]


async def test_other_prompts_wait_in_line_and_their_time_with_them(house: House) -> None:
    first = await house.asked(**CHOICE, thread="t1", ttl="1h")
    second = await house.asked(question="And then?", thread="t1", ttl="1h")
    third = await house.asked(question="And last?", thread="t1", ttl="1h")
    assert (second["queued"], third["queued"]) == (True, True)
    queued = (await house.as_("ana").get("/v1/inquiries?state=queued")).json()["items"]
    assert [each["id"] for each in queued] == [second["id"], third["id"]]
    opened = (await house.as_("ana").get("/v1/inquiries?state=open")).json()["items"]
    assert [each["id"] for each in opened] == [first["id"]]
    assert code(await house.post("ana", f"{second['id']}/answer", text="now")) == (409, "not_its_turn")

    house.clock.now += 1800
    await house.answered(first["id"])
    await house.post("builder", f"{first['id']}/collect")
    assert types(await items(house)) == [
        "pending_prompt",
        "text",
        "pending_prompt_resolved",
        "pending_prompt",
    ]
    turn = (await house.as_("ana").get(f"/v1/inquiries/{second['id']}")).json()
    assert turn["queued"] is False
    assert turn["expires_at"] == "2027-01-15T09:30:00.000Z"
    await house.post("builder", f"{second['id']}/cancel")
    assert (await thread_of(house))["prompt"]["inquiry"] == third["id"]


async def test_one_that_is_withdrawn_in_line_is_never_shown(house: House) -> None:
    first = await house.asked(**CHOICE, thread="t1")
    second = await house.asked(question="And then?", thread="t1")
    third = await house.asked(question="And last?", thread="t1")
    await house.post("builder", f"{second['id']}/cancel")
    await house.post("ana", f"{first['id']}/reject")
    assert (await thread_of(house))["prompt"]["inquiry"] == third["id"]
    shown = [item["metadata"]["prompt"]["prompt_id"] for item in await items(house)]
    assert shown == [f"prm_{name}" for name in (first["id"], first["id"], third["id"])]


async def test_a_message_while_a_question_is_open_answers_it(house: House) -> None:
    asked = await house.asked(**CHOICE, thread="t1")
    told = await said(house, "ana", "2", key="k1")
    assert told["answered"] == f"prm_{asked['id']}"
    assert told["item"]["content"] == [{"type": "text", "text": "2"}]
    settled = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
    assert settled["answer"]["answers"] == [["Memcached"]]
    (block,) = [item["block"] for item in await items(house) if item["block"]]
    assert (block["status"], block["extra"]["answerMessageId"]) == ("success", told["item"]["id"])


async def test_a_message_sent_twice_under_one_key_is_one(house: House) -> None:
    await house.asked(**CHOICE, thread="t1")
    first = await said(house, "ana", "1", key="k1")
    following = await house.asked(question="And then?", thread="t1")
    again = await said(house, "ana", "1", key="k1")
    assert again["item"]["id"] == first["item"]["id"]
    assert (await house.as_("ana").get(f"/v1/inquiries/{following['id']}")).json()["state"] == "open"
    await said(house, "ana", "the rest", key="k2")
    left = await said(house, "ana", "later", key="k3")
    assert (await said(house, "ana", "later", key="k3"))["item"] == left["item"]
    assert [item["content"][0]["text"] for item in await items(house) if item["queued"]] == ["later"]


async def test_messages_wait_for_the_next_turn_while_no_question_is_open(house: House) -> None:
    await begun(house)
    first = await said(house, "ana", "use the new API")
    assert (first["answered"], first["item"]["queued"]) == (None, True)
    await said(house, "ben", "and write tests")
    taken = await house.as_("builder").post("/v1/threads/t1/turn")
    check(schema_of("/v1/threads/{name}/turn", "post", 200), taken.json())
    assert [item["content"][0]["text"] for item in taken.json()["items"]] == [
        "use the new API",
        "and write tests",
    ]
    assert (await house.as_("builder").post("/v1/threads/t1/turn")).json() == taken.json()
    assert all(item["queued"] for item in await items(house))
    after = taken.json()["next_after"]
    nothing = await house.as_("builder").post(f"/v1/threads/t1/turn?after={after}")
    assert nothing.json() == {"items": [], "next_after": after}
    assert not any(item["queued"] for item in await items(house))


async def test_a_turn_confirms_nothing_that_is_yet_to_come(house: House) -> None:
    await begun(house)
    await house.as_("builder").post(f"/v1/threads/t1/turn?after={2**40}")
    await said(house, "ana", "go on")
    turn = (await house.as_("builder").post("/v1/threads/t1/turn")).json()["items"]
    assert [item["content"][0]["text"] for item in turn] == ["go on"]


async def test_other_events_do_not_make_an_agent_wait_longer_for_its_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(house)
    for text in ("one", "two"):
        await said(house, "builder", text)
    waits: list[float] = []
    threads = Threads(house.broker)
    read = threads.items

    async def slowly(name: str, *, after: int = 0, wait: float = 0) -> Sequence[Event]:
        waits.append(wait)
        # The clock of the loop moves in milliseconds.
        await asyncio.sleep(0.002)
        return await read(name, after=after, limit=1)

    monkeypatch.setattr(threads, "items", slowly)
    builder = Caller(name="builder", role=Role.AGENT)
    assert await threads.turn("t1", builder, wait=30) == []
    first, second, last = waits
    assert 30 >= first > second > last


async def test_words_that_came_second_are_a_message_and_never_the_answer_to_what_is_asked_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await house.asked(kind="approval", question="ls", thread="t1")
    second = await house.asked(kind="approval", question="rm -rf build", thread="t1")
    receive = house.broker.receive

    async def late(name: str, reply: Reply, caller: Caller) -> Settled:
        monkeypatch.setattr(house.broker, "receive", receive)
        await house.post("ben", f"{first['id']}/answer", text="yes")
        await house.post("builder", f"{first['id']}/collect")
        return await receive(name, reply, caller)

    monkeypatch.setattr(house.broker, "receive", late)
    told = await said(house, "ana", "yes")
    assert (told["answered"], told["item"]["queued"]) == (None, True)
    prompt = (await thread_of(house))["prompt"]
    assert (prompt["inquiry"], prompt["state"]) == (second["id"], "open")


async def test_an_agent_waits_for_its_next_turn(house: House) -> None:
    await begun(house)
    told: list[httpx2.Response] = []

    async def wait() -> None:
        told.append(await house.as_("builder").post("/v1/threads/t1/turn?wait=30"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await said(house, "ana", "go on")
    assert [item["content"][0]["text"] for item in told[0].json()["items"]] == ["go on"]


@pytest.mark.promise("spec/159")
async def test_items_are_waited_for(house: House) -> None:
    await begun(house)
    found: list[dict[str, Any]] = []

    async def wait() -> None:
        found.extend(await items(house, by="builder", query="?wait=30"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await said(house, "ana", "hello")
    assert [item["content"][0]["text"] for item in found] == ["hello"]
    assert await items(house, query=f"?after={found[0]['seq']}") == []


async def test_an_agents_work_is_posted_in_order_and_halted_by_its_question(house: House) -> None:
    await begun(house)
    call = {"type": "tool_call", "tool_call_id": "c1", "name": "Bash"}
    await said(house, "builder", "npm test", metadata=call)
    await said(house, "builder", "ok", metadata={"type": "tool_result", "tool_call_id": "c1"})
    asked = await house.asked(**CHOICE, thread="t1", request_key="q1")
    assert code(await post(house, "builder", text="meanwhile")) == (409, "prompt_pending")
    assert code(await house.as_("builder").post("/v1/threads/t1/turn")) == (409, "prompt_pending")
    await house.answered(asked["id"])
    # What it does after the answer is evidence that it has it.
    await said(house, "builder", "Redis it is")
    assert (await post(house, "builder", metadata={"type": "turn_end"})).status_code == 201
    found = await items(house, by="builder")
    assert types(found) == [
        "tool_call",
        "tool_result",
        "pending_prompt",
        "text",
        "pending_prompt_resolved",
        "text",
        "turn_end",
    ]
    assert [item["role"] for item in found] == [
        "agent",
        "agent",
        "worker",
        "user",
        "worker",
        "agent",
        "agent",
    ]
    assert [item["seq"] for item in found] == sorted(item["seq"] for item in found)


async def test_secrets_in_an_agents_words_are_masked(house: House) -> None:
    await begun(house)
    token = "ghp_" + "a1B2" * 9
    await said(house, "builder", f"the token is {token}")
    await said(house, "ana", f"use {token}")
    agents, persons = [item["content"][0]["text"] for item in await items(house)]
    assert token not in agents
    assert token in persons


async def test_a_structured_answer_is_used_verbatim_and_a_stale_one_ignored(house: House) -> None:
    asked = await house.asked(**CHOICE, thread="t1")
    prompt = {"prompt_id": f"prm_{asked['id']}", "answers": [{"question": "Which cache?", "answer": ["1"]}]}
    stale = {**prompt, "prompt_id": "prm_01"}
    ignored = await post(house, "ana", metadata={"prompt": stale})
    check(schema_of(ITEMS, "post", 200), ignored.json())
    assert (ignored.status_code, ignored.json()) == (200, {"accepted": False, "answered": None, "item": None})
    told = (await post(house, "ana", metadata={"prompt": prompt})).json()
    assert told["answered"] == prompt["prompt_id"]
    settled = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
    assert settled["answer"]["answers"] == [["1"]]
    again = await post(house, "ana", metadata={"prompt": prompt})
    assert again.json()["accepted"] is False


async def test_the_prompt_is_resolved_or_rejected_by_its_id(house: House) -> None:
    path = "/v1/threads/{name}/resolve"
    first = await house.asked(**CHOICE, thread="t1")
    unknown = await post(house, "ana", "t1/resolve", prompt_id="prm_nobody", text="1")
    check(schema_of(path, "post", 200), unknown.json())
    assert unknown.json() == {"accepted": False, "inquiry": None, "told": None}
    prompt = f"prm_{first['id']}"
    done = await post(house, "ana", "t1/resolve", prompt_id=prompt, text="1")
    check(schema_of(path, "post", 200), done.json())
    assert done.json()["accepted"] is True
    for by, action in (("ben", "resolve"), ("ben", "reject")):
        body = {"text": "2"} if action == "resolve" else {}
        late = await post(house, by, f"t1/{action}", prompt_id=prompt, **body)
        assert late.json()["accepted"] is False
        assert late.json()["inquiry"]["answer"]["answers"] == [["Redis"]]
    await house.post("builder", f"{first['id']}/collect")
    second = await house.asked(**CHOICE, thread="t1")
    gone = await post(house, "ana", "t1/resolve", prompt_id=prompt, text="2")
    assert gone.json() == {"accepted": False, "inquiry": None, "told": None}
    rejected = await post(house, "ana", "t1/reject", prompt_id=f"prm_{second['id']}", reason="no")
    assert rejected.json()["inquiry"]["state"] == "rejected"
    assert types(await items(house))[-2:] == ["pending_prompt", "pending_prompt_resolved"]


async def test_an_invalid_question_is_an_error_in_the_thread_and_nothing_waits(house: House) -> None:
    await begun(house)
    response = await house.as_("builder").post(
        "/v1/inquiries", json={"question": "?", "options": ["x" * 100], "thread": "t1"}
    )
    assert code(response) == (422, "invalid_inquiry")
    (item,) = await items(house)
    assert item["metadata"]["error"]["code"] == "invalid_inquiry"
    assert (item["block"]["type"], item["block"]["status"]) == ("error", "error")
    assert (await thread_of(house))["prompt"] is None
    await said(house, "builder", "going on")


async def test_permissions_are_the_threads_or_else_the_agents(house: House) -> None:
    await begun(house)
    assert (await thread_of(house))["permissions"] == "approval"
    path = "/v1/threads/t1"
    assert code(await house.as_("builder").patch(path, json={"permissions": "autonomous"})) == (
        403,
        "not_allowed",
    )
    chosen = await house.as_("root").patch(path, json={"permissions": "autonomous"})
    check(schema_of("/v1/threads/{name}", "patch", 200), chosen.json())
    assert (chosen.json()["permissions"], chosen.json()["own_permissions"]) == ("autonomous", "autonomous")
    ask = {"kind": "approval", "question": "rm -rf build", "thread": "t1"}
    assert code(await house.as_("builder").post("/v1/inquiries", json=ask)) == (409, "no_approval_needed")
    await house.as_("ana").patch(path, json={"permissions": None})
    assert (await house.asked(**ask))["state"] == "open"


@pytest.mark.parametrize(
    ("by", "path", "body", "expected"),
    [
        ("ana", "", {}, (403, "unknown_agent")),
        ("builder", "", {"id": "no/slash"}, (400, "invalid_request")),
        ("builder", "", {"id": "x" * 101}, (400, "invalid_request")),
        ("builder", "", {"permissions": "autonomous"}, (403, "not_allowed")),
        ("root", "", {"agent": "builder", "permissions": "all"}, (400, "invalid_request")),
        ("ana", "/unknown/items", {"text": "hello"}, (404, "unknown_thread")),
        ("ana", "/t1/items", {}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": " \n"}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": "x" * 70_000}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": 7}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": "a", "content": []}, (400, "invalid_request")),
        ("ana", "/t1/items", {"content": "a"}, (400, "invalid_request")),
        ("ana", "/t1/items", {"content": [{"type": "image"}]}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": "a", "metadata": {"type": "tool_call"}}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": "a", "metadata": []}, (400, "invalid_request")),
        ("ana", "/t1/items", {"text": "a", "metadata": {"x": "y" * 20_000}}, (400, "invalid_request")),
        ("ana", "/t1/items", {"metadata": {"prompt": {"answers": "1"}}}, (400, "invalid_request")),
        (
            "builder",
            "/t1/items",
            {"text": "a", "metadata": {"type": "pending_prompt"}},
            (400, "invalid_request"),
        ),
        ("builder", "/t1/items", {"metadata": {"type": "status"}}, (400, "invalid_request")),
        ("ana", "/t1/resolve", {"text": "1"}, (400, "invalid_request")),
        ("ana", "/t1/resolve", {"prompt_id": "prm_1"}, (400, "invalid_request")),
        (
            "ana",
            "/t1/resolve",
            {"prompt_id": "prm_1", "text": "1", "answers": [["1"]]},
            (400, "invalid_request"),
        ),
        ("builder", "/t1/resolve", {"prompt_id": "prm_1", "text": "1"}, (403, "not_allowed")),
        ("builder", "/t1/reject", {"prompt_id": "prm_1"}, (403, "not_allowed")),
        ("ana", "/t1/reject", {}, (400, "invalid_request")),
    ],
)
async def test_what_is_not_of_the_form_is_refused_and_leaves_nothing(
    house: House, by: str, path: str, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    await begun(house)
    assert code(await house.as_(by).post(f"/v1/threads{path}", json=body)) == expected
    assert await items(house) == []
    assert len((await house.as_("ana").get("/v1/threads")).json()["items"]) == 1


async def test_the_log_carries_items_to_their_agent_alone(house: House) -> None:
    await begun(house)
    await said(house, "ana", "hello")
    for by, expected in (("ana", 1), ("builder", 1), ("painter", 0)):
        news = (await house.as_(by).get("/v1/events?after=0")).json()["items"]
        assert len([event for event in news if event["type"] == "thread_item"]) == expected


async def captured(folder: Path, rules: ThreadRules) -> None:
    """What becomes of a message while a question is open."""
    async with House.open(folder, policy=Policy(threads=rules)) as house:
        asked = await house.asked(**CHOICE, thread="t1")
        response = await post(house, "ana", text="1")
        if rules.capture == "gate":
            assert code(response) == (409, "prompt_pending")
            assert asked["ref"] in response.json()["error"]["hint"]
            assert types(await items(house)) == ["pending_prompt"]
        else:
            assert (response.json()["answered"], response.json()["item"]["queued"]) == (None, True)
        assert (await thread_of(house))["prompt"]["state"] == "open"
        named = {"prompt": {"prompt_id": f"prm_{asked['id']}"}}
        assert (await post(house, "ana", text="1", metadata=named)).json()["answered"]


@pytest.mark.promise("spec/127")
async def test_a_message_is_refused_while_a_question_is_open_if_so_set(tmp_path: Path) -> None:
    await captured(tmp_path, ThreadRules(capture="gate"))


@pytest.mark.promise("spec/127")
async def test_a_message_waits_for_the_next_turn_while_a_question_is_open_if_so_set(tmp_path: Path) -> None:
    await captured(tmp_path, ThreadRules(capture="ignore"))


async def test_a_turn_that_was_left_uncalled_is_called_at_the_next_start(house: House) -> None:
    """The run that asked was ended before it could call its own question up."""
    queue = house.broker.thread_queue
    advance = queue.advance

    async def halted(name: str) -> None:
        """A process that ends here."""

    queue.advance = halted  # type: ignore[method-assign]  # stands for a process that ends
    asked = await house.asked(**CHOICE, thread="t1")
    assert asked["queued"] is True
    queue.advance = advance  # type: ignore[method-assign]  # as it was
    await queue.advance_all()
    assert (await thread_of(house))["prompt"]["inquiry"] == asked["id"]


async def test_an_approval_that_takes_two_people_counts_each_message_once(tmp_path: Path) -> None:
    async with House.open(tmp_path, policy=Policy(quorum=2)) as house:
        asked = await house.asked(kind="approval", question="rm -rf build", thread="t1")
        first = await said(house, "ana", "yes", key="k1")
        assert first["answered"] == f"prm_{asked['id']}"
        assert (await said(house, "ana", "yes", key="k1"))["item"] == first["item"]
        again = await said(house, "ana", "approved")
        assert (again["answered"], again["item"]["queued"]) == (None, True)
        await said(house, "ben", "yes")
        settled = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
        assert settled["answer"]["answers"] == [["Approve"]]
        persons = [item for item in await items(house) if item["role"] == "user"]
        assert [(item["by"], item["content"][0]["text"]) for item in persons] == [
            ("ana", "Approve"),
            ("ana", "approved"),
            ("ben", "yes"),
        ]


async def test_secrets_in_the_metadata_of_an_agent_are_masked(house: House) -> None:
    await begun(house)
    token = "ghp_" + "a1B2" * 9
    call = {"type": "tool_call", "arguments": {"env": [f"TOKEN={token}"]}}
    await said(house, "builder", "deploy", metadata=call)
    (item,) = await items(house)
    assert token not in str(item)
    assert item["metadata"]["arguments"]["env"][0].startswith("TOKEN=")


async def test_who_posts_too_much_is_told_to_wait(tmp_path: Path) -> None:
    async with House.open(tmp_path, pacing=Pacing(per_second=1, burst=3)) as house:
        await begun(house)
        await said(house, "builder", "one")
        await said(house, "builder", "two")
        assert code(await post(house, "builder", text="three")) == (429, "rate_limited")
        wrong = {"question": "?", "options": ["x" * 100], "thread": "t1"}
        for _ in range(3):
            assert code(await house.as_("builder").post("/v1/inquiries", json=wrong)) == (
                422,
                "invalid_inquiry",
            )
        assert len(await items(house)) == 2
        house.clock.now += 1
        await said(house, "builder", "three")


async def test_an_agent_that_asked_two_at_once_is_asked_for_the_second_before_it_can_collect_the_first(
    house: House,
) -> None:
    first = await house.asked(**CHOICE, thread="t1")
    second = await house.asked(question="And then?", thread="t1")
    await house.answered(first["id"])
    await house.broker.thread_queue.advance_all()
    assert (await thread_of(house))["prompt"]["inquiry"] == first["id"]
    house.clock.now += 5
    await house.broker.thread_queue.advance_all()
    assert (await thread_of(house))["prompt"]["inquiry"] == second["id"]
    await house.post("builder", f"{first['id']}/collect")
    assert types(await items(house)) == [
        "pending_prompt",
        "text",
        "pending_prompt_resolved",
        "pending_prompt",
    ]


async def test_an_answer_with_no_prompt_behind_it_is_not_hurried(house: House) -> None:
    asked = await house.asked(**CHOICE, thread="t1")
    await house.answered(asked["id"])
    house.clock.now += 3600
    await house.broker.thread_queue.advance_all()
    assert types(await items(house)) == ["pending_prompt", "text"]


@pytest.mark.promise("trust/26")
async def test_only_an_admin_sets_a_thread_to_autonomous(tmp_path: Path) -> None:
    free = Policy(permission=lambda agent: "autonomous" if agent == "painter" else "approval", quorum=2)
    async with House.open(tmp_path, policy=free) as house:
        await begun(house)
        path = "/v1/threads/t1"
        refused = await house.as_("ana").patch(path, json={"permissions": "autonomous"})
        assert code(refused) == (403, "not_allowed")
        assert "admin" in refused.json()["error"]["hint"]
        new = {"id": "t2", "agent": "builder", "permissions": "autonomous"}
        assert code(await house.as_("ana").post("/v1/threads", json=new)) == (403, "not_allowed")
        assert (await thread_of(house))["permissions"] == "approval"
        # Where the agent's own setting is free, taking the thread's setting back is the same choice.
        await begun(house, "t3", by="painter")
        for by, sent, status in (
            ("ana", "approval", 200),
            ("ana", None, 403),
            ("root", None, 200),
        ):
            response = await house.as_(by).patch("/v1/threads/t3", json={"permissions": sent})
            assert response.status_code == status
