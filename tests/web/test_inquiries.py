"""Asking, reading and settling inquiries over HTTP."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.web.house import CHOICE, House, code, message
from upcall.broker.pacing import Pacing


async def test_asking_gives_the_whole_inquiry_open(house: House) -> None:
    asked = await house.asked(**CHOICE, context="We need *one*.", workspace="shop", thread="t1", ttl="2h")
    assert asked["state"] == "open"
    assert asked["kind"] == "ask_user_question"
    assert asked["questions"] == [
        {
            "header": "",
            "question": "Which cache?",
            "options": [{"label": "Redis", "description": ""}, {"label": "Memcached", "description": ""}],
            "multiSelect": False,
            "custom": True,
        }
    ]
    assert (asked["agent"], asked["session"], asked["door"]) == ("builder", "builder", "http")
    assert (asked["workspace"], asked["thread"], asked["context"]) == ("shop", "t1", "We need *one*.")
    assert asked["asked_at"] == "2027-01-15T08:00:00.000Z"
    assert asked["expires_at"] == "2027-01-15T10:00:00.000Z"
    assert asked["answer"] is asked["resolution"] is None


async def test_several_questions_are_answered_with_one_list_each(house: House) -> None:
    asked = await house.asked(questions=[CHOICE, {"question": "Why?"}])
    settled = await house.post("ana", f"{asked['ref']}/answer", answers=[["Redis"], ["pub/sub"]])
    assert settled.status_code == 200
    assert settled.json()["accepted"] is True
    assert settled.json()["inquiry"]["answer"]["answers"] == [["Redis"], ["pub/sub"]]


@pytest.mark.promise("spec/161")
async def test_the_same_request_key_rejoins_with_200_and_the_same_id(house: House) -> None:
    first = await house.asked(**CHOICE, request_key="call-1")
    again = await house.as_("builder").post("/v1/inquiries", json=CHOICE | {"request_key": "call-1"})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])


async def test_rejoining_an_answered_inquiry_returns_its_answer(house: House) -> None:
    first = await house.asked(**CHOICE, request_key="call-1")
    await house.answered(first["id"])
    again = await house.as_("builder").post("/v1/inquiries", json=CHOICE | {"request_key": "call-1"})
    assert again.json()["answer"]["answers"] == [["Redis"]]


@pytest.mark.promise("spec/23")
async def test_the_same_request_key_with_other_content_is_a_conflict(house: House) -> None:
    await house.asked(**CHOICE, request_key="call-1")
    other = await house.as_("builder").post(
        "/v1/inquiries", json={"question": "Else?", "request_key": "call-1"}
    )
    assert code(other) == (409, "key_conflict")


async def test_another_agent_cannot_rejoin_an_inquiry_by_guessing_session_and_key(house: House) -> None:
    first = await house.asked(**CHOICE, request_key="call-1")
    await house.answered(first["id"])
    guess = CHOICE | {"request_key": "call-1", "session": "builder"}
    response = await house.as_("painter").post("/v1/inquiries", json=guess)
    assert response.status_code == 201
    assert response.json()["id"] != first["id"]
    assert response.json()["state"] == "open"


async def test_an_inquiry_is_found_by_id_and_by_ref(house: House) -> None:
    asked = await house.asked()
    by_id = await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")
    by_ref = await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}")
    assert by_id.json() == by_ref.json() == asked


@pytest.mark.promise("spec/162")
@pytest.mark.parametrize(
    "reply",
    [{"answers": [["Redis"]]}, {"text": "1"}, {"text": "redis"}, {"choices": ["Redis"]}],
)
async def test_an_answer_comes_as_lists_as_words_or_as_choices(house: House, reply: dict[str, Any]) -> None:
    asked = await house.asked()
    settled = (await house.post("ana", f"{asked['id']}/answer", **reply, via="web")).json()
    assert settled["accepted"] is True
    answer = settled["inquiry"]["answer"]
    assert (answer["answers"], answer["by"], answer["via"]) == ([["Redis"]], "ana", "web")
    assert settled["inquiry"]["resolution"] == {
        "state": "answered",
        "by": "ana",
        "via": "web",
        "at": "2027-01-15T08:00:00.000Z",
        "reason": None,
    }


@pytest.mark.promise("spec/28", "spec/162")
async def test_the_second_answer_is_told_the_winner(house: House) -> None:
    asked = await house.asked()
    await house.answered(asked["id"], "Redis", by="ana")
    second = await house.post("ben", f"{asked['id']}/answer", text="Memcached")
    assert second.status_code == 200
    assert second.json()["accepted"] is False
    assert second.json()["inquiry"]["answer"]["answers"] == [["Redis"]]
    assert second.json()["inquiry"]["answer"]["by"] == "ana"


@pytest.mark.promise("spec/172")
@pytest.mark.parametrize(
    ("action", "by", "body"),
    [("answer", "ana", {"text": "Redis"}), ("reject", "ana", {"reason": "no"}), ("cancel", "builder", {})],
)
async def test_a_repeated_key_gets_its_first_reply_again(
    house: House, action: str, by: str, body: dict[str, Any]
) -> None:
    asked = await house.asked()
    first = await house.post(by, f"{asked['id']}/{action}", **body, key="k1")
    house.clock.now += 60
    again = await house.post(by, f"{asked['id']}/{action}", **body, key="k1")
    assert first.json()["accepted"] is True
    assert again.json() == first.json()


async def test_an_equal_key_of_another_person_is_not_mistaken_for_a_repetition(house: House) -> None:
    asked = await house.asked()
    await house.post("ana", f"{asked['id']}/answer", text="Redis", key="1")
    other = await house.post("ben", f"{asked['id']}/answer", text="Memcached", key="1")
    assert other.json()["accepted"] is False


@pytest.mark.promise("spec/173")
async def test_an_expired_inquiry_is_answered_only_by_force(house: House) -> None:
    asked = await house.asked(**CHOICE, ttl=60)
    house.clock.now += 61
    late = await house.post("ana", f"{asked['id']}/answer", text="Redis")
    assert late.status_code == 200
    assert late.json()["accepted"] is False
    assert late.json()["inquiry"]["state"] == "expired"
    forced = await house.post("ana", f"{asked['id']}/answer", text="Redis", force=True)
    assert forced.json()["accepted"] is True
    assert forced.json()["inquiry"]["state"] == "answered"


async def test_an_answer_that_came_after_the_default_is_not_accepted(house: House) -> None:
    asked = await house.asked(**CHOICE, ttl=60, default="Memcached")
    house.clock.now += 61
    late = await house.post("ana", f"{asked['id']}/answer", text="Redis")
    assert late.json()["accepted"] is False
    answer = late.json()["inquiry"]["answer"]
    assert (answer["answers"], answer["by"], answer["via"]) == ([["Memcached"]], "policy", "default")


async def test_a_clock_set_back_neither_expires_nor_reorders_anything(house: House) -> None:
    first = await house.asked(**CHOICE, ttl=60)
    house.clock.now -= 3600
    second = await house.asked(**CHOICE, ttl=60)
    listed = (await house.as_("ana").get("/v1/inquiries?state=open")).json()["items"]
    assert [item["id"] for item in listed] == [first["id"], second["id"]]
    assert first["id"] < second["id"]
    assert (await house.answered(first["id"]))["state"] == "answered"


async def test_rejecting_keeps_the_reason(house: House) -> None:
    asked = await house.asked()
    rejected = (await house.post("ana", f"{asked['ref']}/reject", reason=" not now ")).json()
    assert rejected["accepted"] is True
    assert rejected["inquiry"]["state"] == "rejected"
    assert rejected["inquiry"]["resolution"]["reason"] == "not now"


async def test_rejecting_needs_no_body_at_all(house: House) -> None:
    asked = await house.asked()
    response = await house.as_("ana").post(f"/v1/inquiries/{asked['id']}/reject")
    assert response.json()["accepted"] is True


@pytest.mark.promise("spec/175")
async def test_an_asker_cancels_its_own_and_an_admin_any(house: House) -> None:
    for by in ("builder", "root"):
        asked = await house.asked()
        cancelled = (await house.post(by, f"{asked['id']}/cancel", reason="found it")).json()
        assert (cancelled["accepted"], cancelled["inquiry"]["state"]) == (True, "cancelled")


@pytest.mark.promise("spec/172")
@pytest.mark.parametrize(
    ("action", "by"),
    [("answer", "ana"), ("reject", "ana"), ("cancel", "builder"), ("snooze", "ana"), ("extend", "ana")],
)
async def test_acting_on_a_closed_inquiry_is_200_and_not_accepted(house: House, action: str, by: str) -> None:
    asked = await house.asked()
    await house.post("ben", f"{asked['id']}/reject")
    body = {"answer": {"text": "Redis"}, "snooze": {"for": "1h"}, "extend": {"for": "1h"}}.get(action, {})
    response = await house.post(by, f"{asked['id']}/{action}", **body)
    assert response.status_code == 200
    assert response.json()["accepted"] is False
    assert response.json()["inquiry"]["state"] == "rejected"


@pytest.mark.parametrize("span", [{"for": "1h"}, {"seconds": 3600}, {"until": "2027-01-15T10:00:00+01:00"}])
async def test_snoozing_keeps_an_inquiry_open_and_quiet_until_then(
    house: House, span: dict[str, Any]
) -> None:
    asked = await house.asked()
    snoozed = (await house.post("ana", f"{asked['id']}/snooze", **span)).json()
    assert snoozed["accepted"] is True
    assert snoozed["inquiry"]["state"] == "open"
    assert snoozed["inquiry"]["snoozed_until"] == "2027-01-15T09:00:00.000Z"


async def test_extending_gives_more_time(house: House) -> None:
    asked = await house.asked(**CHOICE, ttl="1h")
    extended = (await house.post("ana", f"{asked['id']}/extend", **{"for": "3h"})).json()
    assert extended["accepted"] is True
    assert extended["inquiry"]["expires_at"] == "2027-01-15T11:00:00.000Z"


async def test_extending_too_late_is_not_accepted(house: House) -> None:
    asked = await house.asked(**CHOICE, ttl=60)
    house.clock.now += 61
    extended = (await house.post("ana", f"{asked['id']}/extend", **{"for": "3h"})).json()
    assert (extended["accepted"], extended["inquiry"]["state"]) == (False, "expired")


async def test_the_asker_acknowledges_its_answer_once(house: House) -> None:
    asked = await house.asked()
    await house.answered(asked["id"])
    house.clock.now += 5
    first = (await house.post("builder", f"{asked['id']}/collect")).json()
    assert first["accepted"] is True
    assert first["inquiry"]["answer"]["collected_at"] == "2027-01-15T08:00:05.000Z"
    assert (await house.post("builder", f"{asked['id']}/collect")).json()["accepted"] is False


async def test_lists_come_in_pages_that_join_without_gaps(house: House) -> None:
    asked = [(await house.asked())["id"] for _ in range(5)]
    found: list[str] = []
    path = "/v1/inquiries?state=open&limit=2"
    cursor: str | None = ""
    while cursor is not None:
        page = (await house.as_("ana").get(path + (f"&cursor={cursor}" if cursor else ""))).json()
        found += [item["id"] for item in page["items"]]
        cursor = page["next"]
    assert found == asked


async def test_lists_are_narrowed_by_state_agent_and_kind(house: House) -> None:
    chosen = await house.asked()
    await house.asked(question="Why?")
    await house.asked("painter")
    await house.answered(chosen["id"])

    async def count(query: str) -> int:
        return len((await house.as_("ana").get(f"/v1/inquiries?{query}")).json()["items"])

    assert await count("") == 3
    assert await count("state=open") == 2
    assert await count("state=closed") == await count("state=answered") == 1
    assert await count("agent=builder") == 2
    assert await count("kind=text") == 1
    assert await count("state=open&agent=painter&kind=ask_user_question") == 1


async def test_a_question_repeated_in_a_named_session_returns_the_earlier_inquiry(house: House) -> None:
    body = CHOICE | {"session": "s1"}
    statuses = [(await house.as_("builder").post("/v1/inquiries", json=body)).status_code for _ in range(6)]
    assert statuses == [201] * 5 + [200]
    unnamed = [(await house.as_("builder").post("/v1/inquiries", json=CHOICE)).status_code for _ in range(6)]
    assert unnamed == [201] * 6


@pytest.mark.promise("spec/192")
async def test_an_approval_repeated_in_a_named_session_is_rate_limited(house: House) -> None:
    body = {"question": "Drop the table?", "kind": "approval", "session": "s1"}
    for _ in range(5):
        await house.asked(**body)
    refused = await house.as_("builder").post("/v1/inquiries", json=body)
    assert code(refused) == (429, "rate_limited")
    assert refused.headers["retry-after"] == "1"


async def test_an_attachment_comes_back_as_a_download_that_no_browser_runs(house: House) -> None:
    page = b"<script>alert(1)</script>"
    files = [
        {"name": "../ünsafe\r\n.html", "media_type": "text/html", "data": base64.b64encode(page).decode()},
        {"name": "a.svg", "media_type": "image/svg+xml", "data": base64.b64encode(b"<svg/>").decode()},
        {"name": "a.png", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
    ]
    asked = await house.asked(question="Fine?", attachments=files)
    got = [
        await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}/attachments/{number}")
        for number in range(3)
    ]
    assert [response.content for response in got] == [page, b"<svg/>", b"\x89PNG"]
    types = [response.headers["content-type"] for response in got]
    assert types == ["text/plain; charset=utf-8", "application/octet-stream", "image/png"]
    for response in got:
        assert response.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in response.headers["content-security-policy"]
    assert "%C3%BCnsafe%0D%0A.html" in got[0].headers["content-disposition"]


@pytest.mark.parametrize("number", ["1", "9999999", "-1", "x", "²"])
async def test_an_attachment_that_is_not_there_is_not_found(house: House, number: str) -> None:
    asked = await house.asked(question="Fine?", attachments=[{"name": "a", "data": "YQ=="}])
    response = await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}/attachments/{number}")
    assert code(response) == (404, "not_found")
    assert "attachment" in message(response)


async def test_text_beyond_ascii_survives_the_round_trip(house: House) -> None:
    asked = await house.asked(question="¿Qué caché? 缓存 🧊")
    answered = await house.answered(asked["id"], "Ⅷ — ça ira 👍")
    assert answered["questions"][0]["question"] == "¿Qué caché? 缓存 🧊"
    assert answered["answer"]["answers"] == [["Ⅷ — ça ira 👍"]]


async def test_half_a_surrogate_pair_is_refused_with_what_to_do(house: House) -> None:
    body = b'{"question": "cut \\ud83d", "session": "s\\ud83d"}'
    asked = await house.as_("builder").post("/v1/inquiries", content=body)
    assert code(asked) == (400, "invalid_request")
    assert "half of a character" in message(asked)
    inquiry = await house.asked()
    answer = await house.as_("ana").post(
        f"/v1/inquiries/{inquiry['id']}/answer", content=b'{"text": "half \\udc00"}'
    )
    assert code(answer) == (400, "invalid_request")


async def test_a_list_is_searched_and_narrowed(house: House) -> None:
    shop = await house.asked(question="Which cache?", workspace="/srv/shop")
    other = await house.asked("painter", question="Which colour?")
    await house.answered(other["id"], "ultramarine")

    async def found(by: str = "ana", **query: str) -> list[str]:
        response = await house.as_(by).get("/v1/inquiries", params=query)
        return [item["id"] for item in response.json()["items"]]

    assert await found(q="ULTRA") == [other["id"]]
    assert await found(q="which", state="open") == [shop["id"]]
    assert await found(workspace="/srv/shop") == [shop["id"]]
    assert await found(run="7") == []
    # An agent finds only its own.
    assert await found("builder", q="which") == [shop["id"]]


@pytest.mark.parametrize("query", [{"q": "x" * 501}, {"run": "0"}, {"run": "one"}])
async def test_a_search_that_cannot_be_made_is_refused(house: House, query: dict[str, str]) -> None:
    response = await house.as_("ana").get("/v1/inquiries", params=query)
    assert code(response) == (400, "invalid_request")


@pytest.mark.promise("trust/37")
async def test_a_token_attaches_a_limited_number_of_bytes_within_an_hour(tmp_path: Path) -> None:
    async with House.open(tmp_path, pacing=Pacing(attachment_bytes=6)) as house:
        file: dict[str, Any] = {"question": "Fine?", "attachments": [{"name": "a", "data": "YWJjZA=="}]}
        await house.asked(**file)
        refused = await house.as_("builder").post("/v1/inquiries", json=file)
        assert code(refused) == (429, "rate_limited")
        assert "caps.attachment_bytes" in refused.json()["error"]["hint"]
        await house.asked(question="Fine?")
        await house.asked("painter", **file)
        house.clock.now += 3600
        await house.asked(**file)


@pytest.mark.promise("trust/61")
@pytest.mark.parametrize(
    "body",
    [
        {"question": "\u3164"},
        {"question": "Which?", "options": ["Redis", "Re\u200bdis"]},
        {"questions": ["Which?", "Whi\u200bch?"]},
    ],
)
async def test_what_no_person_could_tell_apart_is_refused(house: House, body: dict[str, Any]) -> None:
    assert code(await house.as_("builder").post("/v1/inquiries", json=body)) == (422, "invalid_inquiry")
