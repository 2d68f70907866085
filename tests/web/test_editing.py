"""Deciding with changes over HTTP and in the inbox, without scripts."""

from html import unescape
from pathlib import Path

import pytest

from tests.web.house import House, code
from tests.web.visitor import Visitor, words
from upcall.broker.broker import Policy

CLEAN = {"command": "rm -rf build dist", "timeout": 5}
ACTION = {"tool": "Bash", "input": CLEAN, "cwd": "/srv/shop", "editable": True}
LESS = {**CLEAN, "command": "rm -rf build"}


@pytest.mark.promise("raised/18", "raised/20")
async def test_the_api_takes_an_edited_action_and_shows_both(house: House) -> None:
    asked = await house.asked(action=ACTION)
    assert (asked["action"]["input"], asked["action"]["runs_edited"]) == (CLEAN, True)
    sent = {"answers": [["Approve"]], "input": LESS, "note": "dist is needed"}
    reply = (await house.post("ana", f"{asked['ref']}/answer", **sent)).json()

    assert reply["accepted"] is True
    answer = (await house.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["answers"], answer["edit"]["input"]) == ([["Approve"]], LESS)
    assert answer["edit"]["sha256"] != asked["action"]["sha256"]
    assert "-rm -rf build dist\n+rm -rf build" in answer["edit"]["difference"]


async def test_an_edit_that_is_none_is_refused_with_the_field(house: House) -> None:
    asked = await house.asked(action=ACTION)
    for wanted in (dict(LESS, timeout="5"), {"command": "true"}):
        refused = await house.post("ana", f"{asked['ref']}/answer", text="yes", input=wanted)
        assert code(refused) == (422, "not_editable")
    refused = await house.post("ana", f"{asked['ref']}/answer", text="yes", input="true")
    assert code(refused) == (400, "invalid_request")
    plain = await house.asked(question="Deploy?", kind="approval", request_key="other")
    refused = await house.post("ana", f"{plain['ref']}/answer", text="yes", input=LESS)
    assert code(refused) == (422, "not_editable")


@pytest.mark.promise("raised/18", "raised/20")
async def test_the_inbox_approves_what_its_fields_say(live: House, ana: Visitor) -> None:
    asked = await live.asked(action=ACTION)
    page = await ana.looks()
    assert "Exactly what stands here runs" in words(page)
    assert '">\nrm -rf build dist</textarea>' in unescape(page)
    form = await ana.form("/", "/answer")

    # The button for what was asked does not approve another thing than is in the fields.
    changed = await ana.sends(form, ("verdict", "approve"), ("e0", "rm -rf build"), ("e1", "5"))
    assert (changed.status_code, "You have changed the action" in words(changed.text)) == (422, True)
    assert '">\nrm -rf build</textarea>' in unescape(changed.text)
    unfit = await ana.sends(form, ("verdict", "edited"), ("e0", "rm -rf build"), ("e1", "soon"))
    assert (unfit.status_code, "It cannot be changed like this" in words(unfit.text)) == (422, True)
    ruled = await ana.sends(
        form, ("verdict", "edited"), ("e0", "rm -rf build"), ("e1", "5"), ("remember", "exact")
    )
    assert (ruled.status_code, "is not remembered" in words(ruled.text)) == (422, True)

    await ana.sends(form, ("verdict", "edited"), ("e0", "rm -rf build"), ("e1", "5"))
    answer = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert answer["edit"]["input"] == LESS
    shown = words(await ana.looks(f"/i/{asked['id']}"))
    assert "Approved with changes — by ana" in shown
    for part in (asked["action"]["sha256"], answer["edit"]["sha256"], "rm -rf build dist", "rm -rf build"):
        assert part in shown


@pytest.mark.promise("raised/22")
async def test_the_inbox_says_before_that_an_edit_can_only_be_suggested(live: House, ana: Visitor) -> None:
    asked = await live.asked(action={**ACTION, "editable": False})
    assert "cannot run a changed action: it is denied" in words(await ana.looks())
    form = await ana.form("/", "/answer")
    await ana.sends(form, ("verdict", "edited"), ("e0", "rm -rf build"), ("e1", "5"))
    answer = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["answers"], answer["edit"]["input"]) == ([["Deny"]], LESS)
    assert "Denied, with another action suggested — by ana" in words(await ana.looks(f"/i/{asked['id']}"))


@pytest.mark.promise("raised/25")
async def test_the_inbox_shows_what_another_person_edited_and_takes_a_second_approval_of_it(
    tmp_path: Path,
) -> None:
    async with House.open(tmp_path, policy=Policy(quorum=2)) as live:
        asked = await live.asked(action=ACTION)
        await live.post("ben", f"{asked['ref']}/answer", text="yes", input=LESS)
        ana = Visitor(live)
        await ana.signs_in()
        page = await ana.looks()
        assert "0 of 2 approvals" in words(page)
        assert "Changed: 1 of 2 approvals (ben)" in words(page)
        (digest,) = {each.split('"')[0] for each in page.split('value="edited:')[1:]}
        form = await ana.form("/", "/answer")
        await ana.sends(form, ("verdict", f"edited:{digest}"), ("e0", "rm -rf build dist"), ("e1", "5"))
        answer = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
        assert (answer["by"], answer["edit"]["input"]) == ("ana", LESS)


async def test_an_edit_of_another_that_is_not_there_approves_nothing(live: House, ana: Visitor) -> None:
    asked = await live.asked(action=ACTION)
    form = await ana.form("/", "/answer")
    refused = await ana.sends(
        form, ("verdict", f"edited:{'0' * 64}"), ("e0", "rm -rf build dist"), ("e1", "5")
    )
    assert refused.status_code == 422
    assert (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["state"] == "open"
