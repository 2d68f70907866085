"""What a graph is resumed with, for each form that its interrupts have."""

from functools import partial
from typing import Any

import anyio
import pytest

from tests.client.program import Crew
from tests.web.house import until
from upcall.client.bridges.interrupts import Undecided, answer
from upcall.client.bridges.putting import call_key, keyed

REMOVE = {"name": "remove", "args": {"folder": "build"}, "description": "frees space"}
REVIEW = {"action_name": "remove", "allowed_decisions": ["approve", "edit", "reject"]}
INBOX = {"action_request": {"action": "remove", "args": {"folder": "build"}}, "description": "frees space"}
ALL = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}


def allowing(*decisions: str) -> dict[str, Any]:
    return {"action_name": "remove", "allowed_decisions": list(decisions)}


async def resumed(crew: Crew, value: Any, chosen: str, note: str = "") -> Any:
    """What an interrupt is resumed with when the person says this."""

    async def said(ref: str) -> None:
        await crew.said(ref, chosen, note=note)

    return await crew.outcome_of(partial(answer, crew.asker, value, "langgraph-t-1", {}), said)


@pytest.mark.promise("programs/18")
@pytest.mark.parametrize(
    ("value", "chosen", "expected"),
    [
        (
            {"action_requests": [REMOVE], "review_configs": [REVIEW]},
            "Approve",
            {"decisions": [{"type": "approve"}]},
        ),
        (
            {"action_requests": [REMOVE], "review_configs": [REVIEW]},
            "Deny",
            {"decisions": [{"type": "reject", "message": "Denied by ana: not now"}]},
        ),
        (
            {"action_requests": [REMOVE], "review_configs": [allowing("approve", "respond")]},
            "Deny",
            {"decisions": [{"type": "respond", "message": "Denied by ana: not now"}]},
        ),
        (
            {"action_requests": [REMOVE], "review_configs": [allowing("edit", "reject")]},
            "Approve",
            {"decisions": [{"type": "edit", "edited_action": {"name": "remove", "args": REMOVE["args"]}}]},
        ),
        (
            {"action_requests": [REMOVE], "review_configs": [allowing("respond")]},
            "the one of today",
            {"decisions": [{"type": "respond", "message": "the one of today"}]},
        ),
        ({"type": "tool_approval", "tool_call_id": "c1", **REMOVE}, "Approve", {"type": "approve"}),
        (
            [{**INBOX, "config": ALL}],
            "Approve",
            [{"type": "accept", "args": {"action": "remove", "args": {"folder": "build"}}}],
        ),
        ([{**INBOX, "config": ALL}], "Deny", [{"type": "response", "args": "Denied by ana: not now"}]),
        ({**INBOX, "config": {**ALL, "allow_respond": False}}, "Deny", [{"type": "ignore", "args": None}]),
        ({"question": "Which cache?", "options": ["Redis", "Memcached"]}, "Redis", "Redis"),
        ("Which cache?", "Redis", "Redis"),
        ({"draft": "Dear all"}, "fine", "fine"),
    ],
)
async def test_each_form_of_an_interrupt_is_resumed_in_its_own_words(
    crew: Crew, value: Any, chosen: str, expected: Any
) -> None:
    note = "not now" if chosen == "Deny" else ""

    assert await resumed(crew, value, chosen, note=note) == expected


async def test_the_words_that_an_inbox_only_wants_are_asked_for(crew: Crew) -> None:
    value = {**INBOX, "config": {"allow_respond": True}}

    assert await resumed(crew, value, "leave it") == [{"type": "response", "args": "leave it"}]


async def test_an_interrupt_that_no_person_answers_in_time_stays_open(crew: Crew) -> None:
    with pytest.raises(Undecided), anyio.fail_after(30):
        await answer(crew.asker, {"type": "tool_approval", **REMOVE}, "langgraph-t-1", {"timeout": 0})

    (inquiry,) = [each async for each in crew.ana.find(state="open")]
    assert inquiry["request_key"] == "langgraph-t-1"


@pytest.mark.promise("programs/36")
@pytest.mark.parametrize("key", ["langgraph-t-1", ""])
async def test_the_calls_of_one_interrupt_are_put_together_and_each_has_its_own_decision(
    crew: Crew, key: str
) -> None:
    folders = ("build", "src")
    requests = [{**REMOVE, "args": {"folder": folder}} for folder in folders]
    value = {"action_requests": requests, "review_configs": [REVIEW]}
    resumes: list[Any] = []

    async def put() -> None:
        resumes.append(await answer(crew.asker, value, key, {}))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(put)
            await until(lambda: crew.house.broker.waiting == 2)
            asked = await crew.asked_about()
            await crew.said(asked["src"], "Deny", note="it is needed")
            await crew.said(asked["build"], "Approve")

    rejected = {"type": "reject", "message": "Denied by ana: it is needed"}
    assert resumes == [{"decisions": [{"type": "approve"}, rejected]}]


async def test_of_the_calls_of_one_interrupt_the_undecided_one_alone_stays_open(crew: Crew) -> None:
    requests = [{**REMOVE, "args": {"folder": folder}} for folder in ("build", "src")]
    value = {"action_requests": requests, "review_configs": [REVIEW]}
    with pytest.raises(Undecided):
        await answer(crew.asker, value, "langgraph-t-1", {"timeout": 0})
    asked = {each["request_key"]: each["ref"] async for each in crew.ana.find(state="open")}
    await crew.said(asked["langgraph-t-1-0"], "Approve")

    with pytest.raises(Undecided):
        await answer(crew.asker, value, "langgraph-t-1", {"timeout": 0})

    assert [each["request_key"] async for each in crew.ana.find(state="open")] == ["langgraph-t-1-1"]


SUGGESTION = 'Denied by ana: call it again with {"folder": "dist"} instead (keep build)'
ONLY_YES_OR_NO = {**REVIEW, "allowed_decisions": ["approve", "reject"]}


@pytest.mark.promise("programs/25")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"action_requests": [REMOVE], "review_configs": [REVIEW]},
            {
                "decisions": [
                    {"type": "edit", "edited_action": {"name": "remove", "args": {"folder": "dist"}}}
                ]
            },
        ),
        (
            {"action_requests": [REMOVE], "review_configs": [ONLY_YES_OR_NO]},
            {"decisions": [{"type": "reject", "message": SUGGESTION}]},
        ),
        (
            [{**INBOX, "config": ALL}],
            [{"type": "edit", "args": {"action": "remove", "args": {"folder": "dist"}}}],
        ),
        (
            [{**INBOX, "config": {**ALL, "allow_edit": False}}],
            [{"type": "response", "args": SUGGESTION}],
        ),
    ],
)
async def test_an_edit_goes_through_where_the_graph_allows_it_and_is_a_denial_that_suggests_it_elsewhere(
    crew: Crew, value: Any, expected: Any
) -> None:
    async def edits(ref: str) -> None:
        await crew.said(ref, "Approve", note="keep build", input={"folder": "dist"})

    given = partial(answer, crew.asker, value, "langgraph-t-1", {})
    assert await crew.outcome_of(given, edits) == expected


def test_a_call_whose_id_is_long_has_a_key_of_fixed_length() -> None:
    assert call_key("langgraph", "t" * 300) == call_key("langgraph", "t" * 300)
    assert len(call_key("langgraph", "t" * 300)) <= 120


@pytest.mark.promise("programs/7")
def test_a_key_for_all_calls_of_a_bridge_is_refused() -> None:
    assert keyed("claude-toolu_17", {"timeout": 5}) == {"timeout": 5, "key": "claude-toolu_17"}
    with pytest.raises(TypeError, match="each call has its own"):
        keyed("claude-toolu_17", {"key": "nightly"})
