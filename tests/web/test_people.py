"""Who may answer in channels, over HTTP: for administrators to say."""

import pytest

from tests.web.house import House, code


async def test_a_person_is_added_listed_and_removed(house: House) -> None:
    root = house.as_("root")
    added = await root.post("/v1/people", json={"name": "ana", "channel": "slack", "user": "U1"})
    assert added.status_code == 201
    assert len(added.json()["code"]) == 10
    (person,) = (await root.get("/v1/people")).json()["items"]
    assert (person["name"], person["identities"]) == ("ana", [{"channel": "slack", "user": "U1"}])

    assert (await root.delete("/v1/people/ana")).json() == {"name": "ana", "removed": True}
    assert (await root.get("/v1/people")).json()["items"] == []
    assert code(await root.delete("/v1/people/ana")) == (404, "unknown_person")


async def test_an_id_belongs_to_one_person(house: House) -> None:
    root = house.as_("root")
    await root.post("/v1/people", json={"name": "ana", "channel": "slack", "user": "U1"})
    taken = await root.post("/v1/people", json={"name": "ben", "channel": "slack", "user": "U1"})
    assert code(taken) == (400, "invalid_request")
    assert [each["name"] for each in (await root.get("/v1/people")).json()["items"]] == ["ana"]


@pytest.mark.parametrize("body", [{}, {"name": "a b"}, {"name": "ana", "channel": "slack"}, {"name": 3}])
async def test_what_is_no_person_is_refused(house: House, body: dict[str, object]) -> None:
    assert code(await house.as_("root").post("/v1/people", json=body)) == (400, "invalid_request")


@pytest.mark.parametrize("who", ["builder", "ana"])
async def test_only_administrators_say_who_may_answer(house: House, who: str) -> None:
    caller = house.as_(who)
    assert code(await caller.get("/v1/people")) == (403, "not_allowed")
    assert code(await caller.post("/v1/people", json={"name": "eve"})) == (403, "not_allowed")
    assert code(await caller.delete("/v1/people/ana")) == (403, "not_allowed")
    assert code(await caller.post("/v1/channels/slack/test", json={})) == (403, "not_allowed")


async def test_without_channels_there_is_none_to_list_or_test(house: House) -> None:
    assert (await house.as_("ana").get("/v1/channels")).json() == {"items": [], "next": None}
    assert code(await house.as_("builder").get("/v1/channels")) == (403, "not_allowed")
    assert code(await house.as_("root").post("/v1/channels/slack/test", json={})) == (404, "unknown_channel")
