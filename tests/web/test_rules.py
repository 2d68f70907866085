"""Approvals of actions over HTTP, and the rules that are remembered from them."""

from pathlib import Path
from typing import Any

import pytest

from tests.adversary.hiding import HIDING_COMMANDS, PAYLOAD
from tests.web.house import CHOICE, House, code
from tests.web.test_openapi import check, schema_of
from upcall.broker.broker import Policy

ACTION: dict[str, Any] = {
    "tool": "Bash",
    "input": {"command": "npm test -- --watch"},
    "cwd": "/home/ana/project",
}
REMEMBER = {"as": "prefix", "for": "7d"}


async def test_an_approval_is_remembered_with_its_answer(house: House) -> None:
    asked = await house.asked(action=ACTION, request_key="k")
    check(schema_of("/v1/inquiries", "post", 201), asked)
    assert asked["kind"] == "approval"
    assert asked["questions"][0]["question"] == "npm test -- --watch"
    assert asked["action"]["remember"] == ["exact", "prefix", "directory", "tool"]
    assert (asked["action"]["prefix"], len(asked["action"]["sha256"])) == ("npm test", 64)

    response = await house.post("ana", f"{asked['id']}/answer", answers=[["Approve"]], remember=REMEMBER)
    assert response.json()["accepted"], response.text
    listed = (await house.as_("ben").get("/v1/rules")).json()
    check(schema_of("/v1/rules", "get", 200), listed)
    (rule,) = listed["items"]
    assert (rule["as"], rule["prefix"], rule["agent"]) == ("prefix", "npm test", "builder")
    assert (rule["by"], rule["inquiry"], rule["active"]) == ("ana", asked["id"], True)
    events = (await house.as_("ana").get("/v1/events?after=0")).json()["items"]
    assert [event["type"] for event in events][-2:] == ["answered", "rule_made"]

    one = await house.as_("ana").get(f"/v1/rules/{rule['id']}")
    assert one.json() == rule
    gone = await house.as_("ana").delete(f"/v1/rules/{rule['id']}")
    check(schema_of("/v1/rules/{name}", "delete", 200), gone.json())
    assert code(await house.as_("ana").get(f"/v1/rules/{rule['id']}")) == (404, "unknown_rule")
    assert code(await house.as_("ana").delete(f"/v1/rules/{rule['id']}")) == (404, "unknown_rule")


@pytest.mark.promise("trust/15")
@pytest.mark.parametrize("command", HIDING_COMMANDS)
async def test_an_approval_over_http_hides_nothing_that_could_run(house: House, command: str) -> None:
    shell = {**ACTION, "input": {"command": command}}
    assert PAYLOAD in (await house.asked(action=shell))["questions"][0]["question"]
    assert PAYLOAD in (await house.asked(kind="approval", question=command))["questions"][0]["question"]


async def test_another_action_under_the_same_key_is_a_conflict(house: House) -> None:
    await house.asked(action=ACTION, request_key="k")
    other = {**ACTION, "input": {"command": "rm -rf /"}}
    response = await house.as_("builder").post("/v1/inquiries", json={"action": other, "request_key": "k"})
    assert code(response) == (409, "key_conflict")


@pytest.mark.parametrize(
    "answer",
    [
        {"answers": [["Deny"]], "remember": {"as": "exact"}},
        {"answers": [["Approve"]], "remember": {"as": "everything"}},
        {"answers": [["Approve"]], "remember": {}},
        {"answers": [["Approve"]], "remember": "exact"},
        {"answers": [["Approve"]], "remember": {"as": "exact", "for": "soon"}},
        {"answers": [["Approve"]], "remember": {"as": "prefix", "prefix": "git push"}},
    ],
)
async def test_what_cannot_be_remembered_changes_nothing(house: House, answer: dict[str, Any]) -> None:
    asked = await house.asked(action=ACTION)
    assert code(await house.post("ana", f"{asked['id']}/answer", **answer)) == (400, "invalid_request")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["state"] == "open"
    assert (await house.as_("ana").get("/v1/rules")).json()["items"] == []


async def test_only_the_approval_of_an_action_is_remembered(house: House) -> None:
    for body in (CHOICE, {"question": "Deploy?", "kind": "approval"}):
        asked = await house.asked(**body)
        response = await house.post("ana", f"{asked['id']}/answer", text="1", remember={"as": "exact"})
        assert code(response) == (400, "invalid_request")


@pytest.mark.parametrize(
    "body",
    [
        {"action": "reboot"},
        {"action": {"tool": "Bash"}},
        {"action": ACTION, "question": "Just a look?"},
        {"action": ACTION, "context": "harmless"},
        {"action": ACTION, "kind": "text"},
    ],
)
async def test_an_action_is_shown_as_it_is_or_not_asked_about(house: House, body: dict[str, Any]) -> None:
    assert (await house.as_("builder").post("/v1/inquiries", json=body)).status_code in {400, 422}


async def test_a_rule_can_be_made_by_hand(house: House) -> None:
    form = {"agent": "builder", "prefix": "git status", "directory": "/home/ana", "for": "1h"}
    made = await house.as_("ana").post("/v1/rules", json=form)
    assert made.status_code == 201
    check(schema_of("/v1/rules", "post", 201), made.json())
    for wrong in ({}, {"agent": "builder"}, {"prefix": "a; b"}, {"prefix": "sudo"}, {"directory": "../x"}):
        assert code(await house.as_("ana").post("/v1/rules", json=wrong)) == (400, "invalid_request")


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", ""), ("GET", "/r1"), ("DELETE", "/r1")])
async def test_rules_are_none_of_an_agents_business(house: House, method: str, path: str) -> None:
    body = {"tool": "Bash"} if method == "POST" else None
    response = await house.as_("builder").request(method, f"/v1/rules{path}", json=body)
    assert code(response) == (403, "not_allowed")


async def test_votes_are_told_until_there_are_enough(tmp_path: Path) -> None:
    async with House.open(tmp_path) as house:
        house.broker.policy = Policy(quorum=2)
        asked = await house.asked(action=ACTION)
        assert asked["action"]["remember"] == []
        first = (await house.post("ana", f"{asked['id']}/answer", text="yes")).json()
        assert (first["accepted"], first["inquiry"]["state"]) == (True, "open")
        assert first["inquiry"]["approvals"]["given"][0]["by"] == "ana"
        check(schema_of("/v1/inquiries/{name}/answer", "post", 200), first)
        again = (await house.post("ana", f"{asked['id']}/answer", text="yes")).json()
        assert (again["accepted"], again["inquiry"]["state"]) == (False, "open")
        last = (await house.post("ben", f"{asked['id']}/answer", text="yes")).json()
        assert (last["accepted"], last["inquiry"]["state"]) == (True, "answered")
        assert len(last["inquiry"]["approvals"]["given"]) == 2
        assert code(await house.as_("ana").post("/v1/rules", json={"tool": "Bash"})) == (403, "not_allowed")
        assert (await house.as_("root").post("/v1/rules", json={"tool": "Bash"})).status_code == 201
