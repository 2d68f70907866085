"""Deciding over HTTP: holding and undoing, notes, and several questions at once."""

from pathlib import Path

import pytest

from tests.web.house import CHOICE, House, code
from tests.web.visitor import Visitor, words

ACTION = {"tool": "Bash", "input": {"command": "make deploy"}, "cwd": "/srv/shop"}


@pytest.mark.promise("raised/39", "raised/41")
async def test_a_card_has_its_branch_at_once_and_says_why_a_rule_is_not_offered(
    live: House, ana: Visitor
) -> None:
    action = {**ACTION, "input": {"command": "git status && ls"}}
    asked = await live.asked(action=action, workspace="/srv/shop", branch="feature/cache")
    assert (asked["branch"], asked["activity"]) == ("feature/cache", None)
    why = "with & in it, the command is more than one simple command"
    assert asked["action"]["no_prefix"] == {"reason": "character", "what": "&", "text": why}
    page = words(await ana.looks())
    assert "feature/cache" in page
    assert "with &amp; in it, it is more than one simple command" in page


@pytest.mark.promise("desk/2")
async def test_a_held_answer_is_undone_and_the_asker_never_sees_it(house: House) -> None:
    asked = await house.asked()
    held = (await house.post("ana", f"{asked['ref']}/answer", text="Redis", hold=4)).json()
    assert held["accepted"] is True
    assert (held["inquiry"]["state"], held["inquiry"]["answer"], held["told"]) == ("open", None, None)
    assert held["inquiry"]["held"] == {"by": "ana", "via": "api", "until": "2027-01-15T08:00:04.000Z"}

    late = (await house.post("ben", f"{asked['ref']}/answer", text="Memcached")).json()
    assert (late["accepted"], late["inquiry"]["held"]["by"]) == (False, "ana")
    assert code(await house.post("ben", f"{asked['ref']}/undo")) == (403, "not_your_decision")

    undone = (await house.post("ana", f"{asked['ref']}/undo")).json()
    assert (undone["accepted"], undone["inquiry"]) == (True, asked)
    seen = [each["type"] for each in (await house.as_("builder").get("/v1/events")).json()["items"]]
    log = (await house.as_("ana").get("/v1/events")).json()["items"]
    assert (seen, [each["type"] for each in log]) == (["asked"], ["asked", "held", "undone"])
    assert log[-1]["data"]["answers"] == [["Redis"]]


async def test_a_client_holds_for_as_long_as_the_setting_says(house: House) -> None:
    asked, other = await house.asked(), await house.asked(**CHOICE, request_key="other")
    held = (await house.post("ana", f"{asked['ref']}/answer", text="Redis", hold=True)).json()
    assert held["inquiry"]["held"]["until"] == "2027-01-15T08:00:04.000Z"
    at_once = (await house.post("ana", f"{other['ref']}/answer", text="Redis", hold=False)).json()
    assert (at_once["inquiry"]["state"], at_once["inquiry"]["held"]) == ("answered", None)


@pytest.mark.promise("desk/2")
async def test_a_refusal_is_held_and_told_after_it(house: House) -> None:
    asked = await house.asked()
    await house.post("ana", f"{asked['ref']}/reject", reason="not now", hold="4s")
    house.clock.now += 4
    late = (await house.post("ana", f"{asked['ref']}/undo")).json()
    assert (late["accepted"], late["inquiry"]["state"]) == (False, "rejected")


@pytest.mark.parametrize("hold", [61, [], "soon", -1])
async def test_a_hold_that_is_none_is_refused_and_nothing_is_answered(house: House, hold: object) -> None:
    asked = await house.asked()
    refused = await house.post("ana", f"{asked['ref']}/answer", text="Redis", hold=hold)
    assert code(refused) == (400, "invalid_request")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}")).json() == asked


@pytest.mark.promise("desk/22")
async def test_a_note_is_kept_beside_the_choice(house: House) -> None:
    asked = await house.asked(**CHOICE)
    sent = {"answers": [["Redis"]], "note": "but only for sessions"}
    answer = (await house.post("ana", f"{asked['ref']}/answer", **sent)).json()["inquiry"]["answer"]
    assert (answer["answers"], answer["note"]) == ([["Redis"]], "but only for sessions")
    found = await house.as_("ana").get("/v1/inquiries", params={"q": "sessions"})
    assert [each["ref"] for each in found.json()["items"]] == [asked["ref"]]


@pytest.mark.promise("desk/22")
async def test_a_note_beside_a_yes_that_no_model_would_read_is_refused(house: House) -> None:
    prompt = await house.asked(action=ACTION, purpose="permission")
    yes, no = ({"answers": [[word]], "note": "use staging"} for word in ("Approve", "Deny"))
    assert code(await house.post("ana", f"{prompt['ref']}/answer", **yes)) == (422, "note_unread")
    assert (await house.post("ana", f"{prompt['ref']}/answer", **no)).json()["accepted"] is True


@pytest.mark.promise("desk/1", "desk/2")
async def test_the_inbox_holds_what_was_decided_with_a_key_and_takes_it_back(
    live: House, ana: Visitor
) -> None:
    asked = await live.asked(**CHOICE)
    form = await ana.form("/", "/answer")
    await ana.sends(form, ("q0", "0"), ("hold", "1"))

    page = await ana.looks()
    assert "Redis → builder" in words(page)
    assert "data-answer" not in page
    assert (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["state"] == "open"

    await ana.sends(await ana.form("/", "/undo"))
    assert "is open again" in words(await ana.looks("/?said=undo&about=" + asked["ref"]))
    assert "data-answer" in await ana.looks()


@pytest.mark.promise("desk/1")
async def test_with_undo_switched_off_a_key_decides_at_once(tmp_path: Path) -> None:
    async with House.open(tmp_path, undo=0.0) as live:
        asked = await live.asked(**CHOICE)
        ana = Visitor(live)
        await ana.signs_in()
        await ana.sends(await ana.form("/", "/answer"), ("q0", "0"), ("hold", "1"))
        found = (await live.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
        assert (found["state"], found["held"]) == ("answered", None)


@pytest.mark.promise("desk/4")
async def test_an_approval_has_one_deny_with_a_reason_in_its_row(live: House, ana: Visitor) -> None:
    asked = await live.asked(action=ACTION, purpose="permission")
    page = await ana.looks()
    assert "/reject" not in page
    form = await ana.form("/", "/answer")
    unread = await ana.sends(form, ("verdict", "approve"), ("note", "use staging"))
    assert (unread.status_code, "Approve without it, or deny with it" in words(unread.text)) == (422, True)
    assert ">use staging</textarea>" in unread.text
    await ana.sends(form, ("verdict", "deny"), ("note", "use staging"))
    answer = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["answers"], answer["note"]) == ([["Deny"]], "use staging")
    assert "use staging" in words(await ana.looks())


@pytest.mark.promise("desk/22")
async def test_a_note_is_written_beside_a_choice_on_the_page(live: House, ana: Visitor) -> None:
    asked = await live.asked(**CHOICE)
    await ana.sends(await ana.form("/", "/answer"), ("q0", "0"), ("note", "but only for sessions"))
    answer = (await live.as_("builder").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["answers"], answer["note"]) == ([["Redis"]], "but only for sessions")


@pytest.mark.parametrize(
    ("action", "heading"),
    [
        (ACTION, "Run a command in shop?"),
        ({"tool": "Bash", "input": {"command": "a | b"}, "cwd": "/srv/shop/"}, "Run a command in shop?"),
        (
            {"tool": "Edit", "input": {"file_path": "/srv/shop/a", "new_string": "b"}, "cwd": "/srv/shop"},
            "Change files in shop?",
        ),
        ({"tool": "WebFetch", "input": {"url": "x"}, "cwd": "/srv/shop"}, "Use WebFetch in shop?"),
        ({"tool": "Bash", "input": {"command": "make"}, "cwd": "/"}, "Allow this?"),
    ],
)
async def test_the_heading_of_an_approval_names_the_action(
    house: House, action: dict[str, object], heading: str
) -> None:
    asked = await house.asked(action=action)
    ana = Visitor(house)
    await ana.signs_in()
    assert f"<bdi>{heading}</bdi></h2>" in await ana.looks(f"/i/{asked['id']}")
