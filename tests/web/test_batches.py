"""The same action in several repositories: one row of the list, and one decision about exactly those that were seen."""

from pathlib import Path
from typing import Any

import pytest

from tests.web.house import CHOICE, House, code
from tests.web.visitor import Visitor, forms, words
from upcall.broker.broker import Policy

pytestmark = pytest.mark.promise("desk/18", "desk/19")

TIMES = "\u00d7"
REPOSITORIES = ("shop-api", "billing", "search")
Asked = list[dict[str, Any]]


async def applied(house: House, *repositories: str, command: str = "terraform apply", **more: Any) -> Asked:
    """The same command, asked for in each of these repositories."""
    return [
        await house.asked(
            action={
                "tool": "Bash",
                "input": {"command": command, "description": f"in {name}", **more},
                "cwd": f"/srv/{name}",
            },
            workspace=f"/srv/{name}",
        )
        for name in repositories
    ]


async def found(house: House, asked: Asked, name: str = "state") -> list[Any]:
    """A field of each of them, as they are now."""
    return [(await house.as_("ana").get(f"/v1/inquiries/{each['id']}")).json()[name] for each in asked]


async def events(house: House, *types: str) -> list[tuple[str, str]]:
    log = (await house.as_("ana").get("/v1/events")).json()["items"]
    return [(each["type"], each["inquiry"]) for each in log if each["type"] in types]


def ids(asked: Asked) -> list[tuple[str, str]]:
    return [("id", each["id"]) for each in asked]


async def test_the_same_action_in_several_repositories_is_one_row(live: House, ana: Visitor) -> None:
    asked = await applied(live, *REPOSITORIES)
    await live.asked(**CHOICE)
    await applied(live, "docs", command="terraform plan")
    page = await ana.looks()
    assert page.count('class="batch"') == 2, "one row, and the template of further ones"
    assert f"3 {TIMES} terraform apply" in words(page)
    form = await ana.form("/", "/decide")
    # The box of a row that stands by itself belongs to no form.
    assert form.offered[:3] == ids(asked)


@pytest.mark.parametrize(
    "differs", [{"timeout": 60}, {"command": "terraform apply\n-auto-approve"}, {"command": "x" * 200}]
)
async def test_what_a_line_does_not_show_whole_stands_by_itself(
    live: House, ana: Visitor, differs: dict[str, Any]
) -> None:
    await applied(live, *REPOSITORIES, **differs)
    assert (await ana.looks()).count('class="batch"') == 1


async def test_approving_approves_exactly_those_that_were_seen_and_makes_no_rule(
    live: House, ana: Visitor
) -> None:
    asked = await applied(live, *REPOSITORIES)
    form = await ana.form("/", "/decide")
    later = await applied(live, "infra")
    done = await ana.sends(form, *ids(asked[:2]), ("verdict", "approve"))
    assert (done.status_code, "Approved: 2" in words(done.text)) == (200, True)
    assert await events(live, "held") == [("held", each["id"]) for each in asked[:2]]
    assert await found(live, [asked[2], *later], "held") == [None, None]

    live.clock.now += 4
    await live.asked(**CHOICE)
    for each in asked[:2]:
        reply = await live.as_("builder").get(f"/v1/inquiries/{each['id']}/wait", params={"timeout": 30})
        assert reply.json()["answer"]["answers"] == [["Approve"]]
    assert await found(live, asked + later) == ["answered", "answered", "open", "open"]
    assert (await live.as_("ana").get("/v1/rules")).json()["items"] == []


async def test_undo_takes_all_of_them_back(live: House, ana: Visitor) -> None:
    asked = await applied(live, *REPOSITORIES)
    done = await ana.sends(
        await ana.form("/", "/decide"), *ids(asked), ("verdict", "deny"), ("note", "not on Friday")
    )
    assert "Denied: 3" in words(done.text)
    undone = await ana.sends(next(form for form in forms(done.text) if form.action == "/decide"))
    assert "Open again: 3" in words(undone.text)
    assert await found(live, asked, "held") == [None] * 3
    assert [kind for kind, _ in await events(live, "held", "undone")] == ["held"] * 3 + ["undone"] * 3


async def test_what_can_no_longer_be_decided_is_told_for_each(live: House, ana: Visitor) -> None:
    asked = await applied(live, *REPOSITORIES)
    form = await ana.form("/", "/decide")
    await live.post("ben", f"{asked[0]['ref']}/answer", text="no")
    done = await ana.sends(form, *ids(asked), ("id", "nothing"), ("verdict", "approve"))
    told = words(done.text)
    assert "Approved: 2" in told
    assert f"{asked[0]['ref']} was settled before, so nothing was changed: Denied — by ben" in told
    assert "nothing: There is no such question." in told
    assert await found(live, asked) == ["answered", "open", "open"]


async def test_where_two_people_have_to_approve_each_is_told_so(tmp_path: Path) -> None:
    async with House.open(tmp_path, policy=Policy(quorum=2)) as house:
        asked = await applied(house, *REPOSITORIES)
        ana = Visitor(house)
        await ana.signs_in()
        done = await ana.sends(await ana.form("/", "/decide"), *ids(asked), ("verdict", "approve"))
        assert all(f"Approved {each['ref']}. It needs more people." in words(done.text) for each in asked)
        assert await events(house, "voted") == [("voted", each["id"]) for each in asked]


async def test_snoozing_several_is_one_step_with_a_record_for_each(live: House, ana: Visitor) -> None:
    asked = await applied(live, *REPOSITORIES)
    done = await ana.sends(await ana.form("/", "/decide"), *ids(asked), ("verdict", "snooze"))
    assert "Snoozed: 3" in words(done.text)
    assert await events(live, "snoozed") == [("snoozed", each["id"]) for each in asked]


async def test_a_form_without_a_selection_says_what_is_missing(live: House, ana: Visitor) -> None:
    await applied(live, *REPOSITORIES)
    refused = await ana.sends(await ana.form("/", "/decide"), ("verdict", "approve"))
    assert (refused.status_code, "Select at least one." in words(refused.text)) == (400, True)


async def test_the_api_decides_about_several_and_replies_for_each(house: House) -> None:
    asked = await applied(house, "shop-api", "billing")
    question = await house.asked(**CHOICE)
    names = [asked[0]["ref"], asked[1]["id"], question["ref"], "a1"]
    sent = {"inquiries": names, "decision": "approve", "hold": 4, "key": "once"}
    reply = await house.as_("ana").post("/v1/decisions", json=sent)
    items = reply.json()["items"]
    assert [(each["name"], each["accepted"]) for each in items] == list(
        zip(names, [True, True, False, False], strict=True)
    )
    assert [each["inquiry"]["held"]["by"] for each in items[:2]] == ["ana", "ana"]
    assert [each["error"]["code"] for each in items[2:]] == ["invalid_request", "unknown_inquiry"]
    again = (await house.as_("ana").post("/v1/decisions", json=sent)).json()["items"]
    assert [each["accepted"] for each in again] == [True, True, False, False]
    assert len(await events(house, "held")) == 2

    everything = [asked[0]["ref"], asked[1]["ref"], question["ref"]]
    await house.as_("ana").post("/v1/decisions", json={"inquiries": everything[:2], "decision": "undo"})
    declined = {"inquiries": everything, "decision": "decline", "note": "not now"}
    last = (await house.as_("ana").post("/v1/decisions", json=declined)).json()["items"]
    assert [each["accepted"] for each in last] == [True] * 3
    assert [kind for kind, _ in await events(house, "rejected")] == ["rejected"] * 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"inquiries": []},
        {"inquiries": ["a7"] * 201},
        {"inquiries": "a7"},
        {"decision": "maybe"},
        {"decision": "snooze"},
        {"hold": 61},
    ],
)
async def test_a_decision_that_is_none_is_refused(house: House, wrong: dict[str, Any]) -> None:
    asked = await applied(house, "shop-api")
    sent = {"inquiries": [asked[0]["ref"]], "decision": "approve", **wrong}
    assert code(await house.as_("ana").post("/v1/decisions", json=sent)) == (400, "invalid_request")
    assert await found(house, asked, "held") == [None]


async def test_an_agent_decides_about_nothing(house: House) -> None:
    asked = await applied(house, "shop-api")
    sent = {"inquiries": [asked[0]["ref"]], "decision": "approve"}
    assert (await house.as_("builder").post("/v1/decisions", json=sent)).status_code == 403


@pytest.mark.promise("desk/51")
async def test_always_allowing_is_an_act_of_its_own_that_makes_a_rule_for_each(
    live: House, ana: Visitor
) -> None:
    asked = await applied(live, *REPOSITORIES)
    form = await ana.form("/", "/decide")
    left_out, *chosen = ids(asked)
    for _ in range(2):
        # Sent twice, it makes no second rule.
        done = await ana.sends(form, *chosen, ("verdict", "always"))
        assert "Approved, and allowed for 30 days: 2." in words(done.text)
    assert await found(live, asked) == ["open", "answered", "answered"]
    rules = (await live.as_("ana").get("/v1/rules")).json()["items"]
    assert {rule["inquiry"] for rule in rules} == {name for _, name in chosen}
    assert len(rules) == 2
    assert left_out[1] not in {rule["inquiry"] for rule in rules}
    page = await ana.looks()
    assert "Undo" not in words(page.partition("data-held")[2].partition("</div>")[0])
