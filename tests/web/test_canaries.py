"""Every route of the API, called by every kind of caller: what is refused, and whose words a reply never holds.

The routes come from the table that the API is served from, so one that is added is tried too.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.web.house import House, code
from upcall.domain.roles import Role
from upcall.web.api.endpoint import Endpoint
from upcall.web.api.routes import TABLE

CANARY = "canary-7f3a"
STREAMS = frozenset({"GET /v1/stream", "GET /v1/agent-questions"})
"""Without an end; `test_roles.py` and `test_live.py` have those."""

ENDPOINTS = [each for rows in TABLE.values() for each in rows if each.route not in STREAMS]
GUARDED = [each for each in ENDPOINTS if each.allowed.role is not None]


def bodies(endpoint: Endpoint) -> Iterator[Any]:
    """What the documentation shows, and nothing."""
    yield {}
    body: dict[str, Any] = endpoint.body or {}
    for shape in body.get("content", {}).values():
        yield from [shape["example"]] if "example" in shape else []
        yield from (each["value"] for each in shape.get("examples", {}).values())


async def furnished(house: House) -> dict[str, str]:
    """One agent's question with an attachment and an answer, and its thread, each with the canary in it; their names in paths."""
    asked = await house.asked(
        question=f"{CANARY}?",
        options=[f"{CANARY}-yes", "no"],
        context=CANARY,
        workspace=f"/srv/{CANARY}",
        attachments=[{"name": f"{CANARY}.txt", "data": "Y2FuYXJ5"}],
    )
    await house.answered(asked["id"], f"{CANARY}-yes")
    await house.asked(question=f"{CANARY} again?")
    agent = house.as_("builder")
    await agent.post("/v1/threads", json={"id": "shop", "title": CANARY})
    await agent.post("/v1/threads/shop/items", json={"text": CANARY})
    return {"inquiries": asked["id"], "threads": "shop", "tokens": "builder", "people": "ana"}


async def called(
    house: House, caller: str | None, endpoint: Endpoint, names: dict[str, str]
) -> list[httpx2.Response]:
    """The replies to a route with each of its bodies, without waiting for anything."""
    resource = endpoint.path.removeprefix("/v1").split("/")[1]
    path = endpoint.path.format(name=names.get(resource, "1"), number="0")
    patience = {"timeout": "0", "wait": "0"} if endpoint.method == "GET" else {}
    sent = {name: value for name, value in patience.items() if name in endpoint.query()}
    return [
        await house.as_(caller).request(
            endpoint.method, path, params=sent, json=body if endpoint.method not in {"GET", "HEAD"} else None
        )
        for body in bodies(endpoint)
    ]


@pytest.mark.promise("proof/2")
async def test_a_caller_without_a_token_is_refused_everywhere(house: House) -> None:
    names = await furnished(house)
    for endpoint in GUARDED:
        for response in await called(house, None, endpoint, names):
            assert code(response) == (401, "unauthenticated"), endpoint.route
            assert CANARY not in response.text, endpoint.route


@pytest.mark.promise("proof/2")
async def test_a_monitor_sees_its_own_list_and_no_words(house: House) -> None:
    names = await furnished(house)
    for endpoint in GUARDED:
        for response in await called(house, "watcher", endpoint, names):
            assert CANARY not in response.text, endpoint.route
            if not endpoint.allowed.monitors:
                assert code(response) == (403, "not_allowed"), endpoint.route


@pytest.mark.promise("proof/2")
async def test_another_agent_sees_nothing_of_the_first_and_does_nothing_that_people_do(house: House) -> None:
    names = await furnished(house)
    before = await everything(house)
    for endpoint in GUARDED:
        for response in await called(house, "painter", endpoint, names):
            assert CANARY not in response.text, endpoint.route
            if endpoint.allowed.role in {Role.PERSON, Role.ADMIN}:
                assert code(response) == (403, "not_allowed"), endpoint.route
        assert await everything(house) == before, endpoint.route


@pytest.mark.promise("proof/2")
async def test_a_person_does_nothing_that_is_for_admins(house: House) -> None:
    names = await furnished(house)
    for endpoint in GUARDED:
        if endpoint.allowed.role is Role.ADMIN:
            for response in await called(house, "ana", endpoint, names):
                assert code(response) == (403, "not_allowed"), endpoint.route


async def everything(house: House) -> str:
    """What the first agent's questions and its thread are now."""
    asked = await house.as_("root").get("/v1/inquiries", params={"agent": "builder"})
    items = await house.as_("builder").get("/v1/threads/shop/items")
    return json.dumps([asked.json(), items.json()])
