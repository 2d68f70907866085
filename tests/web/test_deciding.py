"""Deciding over HTTP: holding and undoing, notes, and several questions at once."""

import pytest

from tests.web.house import CHOICE, House, code

ACTION = {"tool": "Bash", "input": {"command": "make deploy"}, "cwd": "/srv/shop"}


@pytest.mark.promise("desk/2")
async def test_a_held_answer_is_undone_and_the_asker_never_sees_it(house: House) -> None:
    asked = await house.asked()
    held = (await house.post("ana", f"{asked['ref']}/answer", text="Redis", hold=4)).json()
    assert held["accepted"] is True
    assert (held["inquiry"]["state"], held["inquiry"]["answer"], held["told"]) == ("open", None, None)
    assert held["inquiry"]["held"] == {"by": "ana", "via": "api", "until": "2027-01-15T08:00:04.000Z"}

    late = (await house.post("ben", f"{asked['ref']}/answer", text="Memcached")).json()
    assert (late["accepted"], late["inquiry"]["held"]["by"]) == (False, "ana")
    assert code(await house.post("ben", f"{asked['ref']}/undo")) == (403, "not_allowed")

    undone = (await house.post("ana", f"{asked['ref']}/undo")).json()
    assert (undone["accepted"], undone["inquiry"]) == (True, asked)
    seen = [each["type"] for each in (await house.as_("builder").get("/v1/events")).json()["items"]]
    log = (await house.as_("ana").get("/v1/events")).json()["items"]
    assert (seen, [each["type"] for each in log]) == (["asked"], ["asked", "held", "undone"])
    assert log[-1]["data"]["answers"] == [["Redis"]]


@pytest.mark.promise("desk/2")
async def test_a_refusal_is_held_and_told_after_it(house: House) -> None:
    asked = await house.asked()
    await house.post("ana", f"{asked['ref']}/reject", reason="not now", hold="4s")
    house.clock.now += 4
    late = (await house.post("ana", f"{asked['ref']}/undo")).json()
    assert (late["accepted"], late["inquiry"]["state"]) == (False, "rejected")


@pytest.mark.parametrize("hold", [61, True, "soon", -1])
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
