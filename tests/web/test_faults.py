"""Bad requests: each gets a status, a code, a message that names the field, and changes nothing."""

from typing import Any

import pytest

from tests.web.house import CHOICE, House, code, message
from upcall.domain import errors as domain_errors
from upcall.domain.errors import StorageFull, UpcallError
from upcall.http import errors as http_errors
from upcall.ports.store import Query

UNKNOWN = "z99zzz"


@pytest.mark.parametrize(
    ("method", "path", "by"),
    [
        ("GET", f"/v1/inquiries/{UNKNOWN}", "ana"),
        ("GET", f"/v1/inquiries/{UNKNOWN}/wait", "ana"),
        ("GET", f"/v1/inquiries/{UNKNOWN}/attachments/0", "ana"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/answer", "ana"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/reject", "ana"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/cancel", "root"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/snooze", "ana"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/extend", "ana"),
        ("POST", f"/v1/inquiries/{UNKNOWN}/collect", "builder"),
    ],
)
async def test_an_unknown_ref_is_404(house: House, method: str, path: str, by: str) -> None:
    body = {"text": "yes", "for": "1h"} if method == "POST" else None
    response = await house.as_(by).request(method, path, json=body)
    assert code(response) == (404, "unknown_inquiry")
    assert UNKNOWN in message(response)


@pytest.mark.promise("spec/39")
@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": " \n\t "}, {"answers": [[" "]]}, {"answers": [[]]}, {"choices": []}]
)
async def test_an_empty_answer_is_refused(house: House, body: dict[str, Any]) -> None:
    asked = await house.asked()
    assert code(await house.post("ana", f"{asked['id']}/answer", **body)) == (422, "empty_answer")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json() == asked


@pytest.mark.promise("spec/50")
async def test_an_unreadable_answer_is_told_the_choices(house: House) -> None:
    asked = await house.asked(**CHOICE, custom=False)
    response = await house.post("ana", f"{asked['id']}/answer", text="Postgres")
    assert code(response) == (422, "unreadable_answer")
    assert "Redis" in response.json()["error"]["hint"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{", "not JSON"),
        (b'{"question": NaN}', "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "not a JSON object"),
        (b'"question"', "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"question": ' + b"9" * 5000 + b"}", "too large"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/inquiries", "/v1/tokens"])
async def test_a_malformed_body_is_refused_with_a_reason(
    house: House, path: str, body: bytes, problem: str
) -> None:
    response = await house.as_("root").post(path, content=body)
    assert code(response) == (400, "invalid_request")
    assert problem in message(response)
    assert response.json()["error"]["hint"]


ELEVEN = [f"option {number}" for number in range(11)]
APPROVAL = {"question": "Deploy?", "kind": "approval"}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "question"),
        ({"question": ""}, 422, "question"),
        ({"question": {"a": 1}}, 422, "question"),
        ({"questions": []}, 422, "questions"),
        ({"questions": [{"header": "h"}]}, 422, "questions[0].question"),
        ({"questions": [CHOICE] * 5}, 422, "questions"),
        ({"questions": [CHOICE, {"question": "?", "options": ELEVEN}]}, 422, "questions[1].options"),
        ({"question": "?", "options": ELEVEN}, 422, "options"),
        ({"question": "?", "options": [{"label": "x" * 76}]}, 422, "options[0].label"),
        ({"question": "?", "options": "a"}, 422, "options"),
        ({"question": "?", "header": "h" * 31}, 422, "header"),
        ({"question": "?", "context": "c" * 16385}, 422, "context"),
        ({"question": "?", "kind": "poll"}, 422, "kind"),
        ({"question": "?", "multiSelect": "maybe"}, 422, "multiSelect"),
        ({"question": "?", "attachments": "a"}, 422, "attachments"),
        ({"question": "?", "attachments": [{"name": "a", "data": "?"}]}, 422, "attachments[0].data"),
        (APPROVAL | {"default": "Approve"}, 422, "default"),
        (APPROVAL | {"default": "yes"}, 422, "default"),
        ({"question": "?", "on_expiry": "default"}, 422, "on_expiry"),
        ({"question": "?", "on_expiry": ["fail"]}, 422, "on_expiry"),
        ({"question": "?", "ttl": "soon"}, 400, "ttl"),
        ({"question": "?", "ttl": -1}, 400, "ttl"),
        ({"question": "?", "ttl": 1e300}, 400, "ttl"),
        ({"question": "?", "ttl": [1]}, 400, "ttl"),
        ({"question": "?", "ttl": True}, 400, "ttl"),
        ({"question": "?", "session": 7}, 400, "session"),
        ({"question": "?", "session": "s" * 201}, 400, "session"),
        ({"question": "?", "request_key": ["k"]}, 400, "request_key"),
        ({"question": "?", "workspace": {}}, 400, "workspace"),
        ({"question": "?", "thread": 1.5}, 400, "thread"),
        ({"question": "?", "purpose": "fun"}, 400, "purpose"),
    ],
)
async def test_a_bad_question_is_refused_naming_the_field(
    house: House, body: dict[str, Any], status: int, field: str
) -> None:
    response = await house.as_("builder").post("/v1/inquiries", json=body)
    assert code(response) == (status, "invalid_inquiry" if status == 422 else "invalid_request")
    assert message(response).startswith(f"{field}:")
    assert (await house.store.find(Query())).items == ()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "answers"),
        ({"text": "a", "answers": [["a"]]}, "only one of"),
        ({"text": 1}, "text"),
        ({"text": ["a"]}, "text"),
        ({"answers": "a"}, "answers"),
        ({"answers": ["a"]}, "answers[0]"),
        ({"answers": [[1]]}, "answers[0][0]"),
        ({"answers": [["a"], ["b"]]}, "answers"),
        ({"choices": "a"}, "choices"),
        ({"choices": [None]}, "choices[0]"),
        ({"text": "a", "force": "yes"}, "force"),
        ({"text": "a", "key": 1}, "key"),
        ({"text": "a", "via": "Far Away"}, "via"),
        ({"text": "a" * 70_000}, "an answer has at most"),
        ({"choices": ["a" * 70_000]}, "an answer has at most"),
    ],
)
async def test_a_bad_answer_is_refused_naming_the_field(
    house: House, body: dict[str, Any], field: str
) -> None:
    asked = await house.asked()
    response = await house.post("ana", f"{asked['id']}/answer", **body)
    assert code(response) == (400, "invalid_request")
    assert message(response).startswith(field)
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json() == asked


@pytest.mark.parametrize(
    ("action", "body", "field"),
    [
        ("reject", {"reason": 1}, "reason"),
        ("reject", {"reason": "r" * 2001}, "reason"),
        ("snooze", {}, "for"),
        ("snooze", {"for": "later"}, "for"),
        ("snooze", {"for": 0}, "for"),
        ("snooze", {"seconds": []}, "seconds"),
        ("snooze", {"until": "2027-01-15T07:00:00Z"}, "until"),
        ("snooze", {"until": "tomorrow"}, "until"),
        ("snooze", {"until": "2027-01-15T09:00:00"}, "until"),
        ("snooze", {"until": 5}, "until"),
        ("extend", {"for": "9999d"}, "for"),
        ("extend", {"until": "9999-12-31T23:59:59Z"}, "until"),
    ],
)
async def test_a_bad_step_is_refused_naming_the_field(
    house: House, action: str, body: dict[str, Any], field: str
) -> None:
    asked = await house.asked()
    response = await house.post("ana", f"{asked['id']}/{action}", **body)
    assert code(response) == (400, "invalid_request")
    assert message(response).startswith(f"{field}:")


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/v1/inquiries?limit=201", "limit"),
        ("/v1/inquiries?limit=0", "limit"),
        ("/v1/inquiries?limit=many", "limit"),
        ("/v1/inquiries?limit=%C2%B2", "limit"),
        ("/v1/inquiries?state=lost", "lost"),
        ("/v1/inquiries?kind=poll", "kind"),
        ("/v1/inquiries?cursor=nowhere", "cursor"),
        ("/v1/inquiries?agnet=x", "agnet"),
        ("/v1/inquiries/a2/wait?timeout=3601", "timeout"),
        ("/v1/inquiries/a2/wait?timeout=soon", "timeout"),
        ("/v1/inquiries/a2/wait?timeout=nan", "timeout"),
        ("/v1/events?after=-1", "after"),
        ("/v1/events?after=x", "after"),
        ("/v1/events?wait=301", "wait"),
        ("/v1/stream?after=x", "after"),
        ("/v1/tokens?limit=3", "limit"),
    ],
)
async def test_a_bad_parameter_is_refused_by_name(house: House, path: str, named: str) -> None:
    response = await house.as_("root").get(path)
    assert code(response) == (400, "invalid_request")
    assert named in message(response)


async def test_a_bad_last_event_id_is_refused_by_name(house: House) -> None:
    response = await house.as_("ana").get("/v1/stream", headers={"Last-Event-ID": "abc"})
    assert code(response) == (400, "invalid_request")
    assert "Last-Event-ID" in message(response)


@pytest.mark.parametrize(
    "path", ["/inbox", "/v1", "/v1/nothing", "/v1/inquiries/", "/v1/inquiries/a2/approve", "/healthz/"]
)
async def test_an_unknown_path_is_404_in_json(house: House, path: str) -> None:
    assert code(await house.as_("ana").get(path)) == (404, "not_found")


async def test_a_wrong_method_is_405_and_told_the_right_ones(house: House) -> None:
    response = await house.as_("ana").delete("/v1/inquiries")
    assert code(response) == (405, "method_not_allowed")
    assert response.headers["allow"] == "POST, GET"


async def test_a_full_disk_is_507_and_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise StorageFull("there is no room left", hint="free some space")

    monkeypatch.setattr(house.store, "add", full)
    response = await house.as_("builder").post("/v1/inquiries", json=CHOICE)
    assert code(response) == (507, "storage_full")


async def test_our_own_mistake_is_500_without_details_and_logged(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("the flux capacitor is missing")

    monkeypatch.setattr(house.store, "add", broken)
    response = await house.as_("builder").post("/v1/inquiries", json=CHOICE)
    assert code(response) == (500, "internal")
    assert "flux" not in response.text
    assert "flux capacitor" in caplog.text


def test_every_error_has_a_status() -> None:
    found = [
        value
        for module in (domain_errors, http_errors)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, UpcallError)
    ]
    assert {error.code for error in found} <= set(http_errors.STATUSES)
