"""Who may do what: an agent asks and sees its own, people answer, administrators manage tokens."""

from pathlib import Path
from typing import Any

import pytest

from tests.web.house import CHOICE, House, code

TOKENLESS = ["/healthz", "/livez", "/v1/openapi.json"]


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer ",
        "Bearer wrong",
        "Basic dXNlcjpwYXNz",
        "Bearer upcall_person_" + "x" * 43,
        "Bearer \xff",
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/inquiries", "/v1/events", "/v1/stream", "/v1/me", "/v1/tokens", "/metrics"]
)
async def test_without_a_good_token_nothing_is_served(house: House, path: str, header: str | None) -> None:
    headers = {} if header is None else {b"Authorization": header.encode("latin-1")}
    response = await house.as_(None).get(path, headers=headers)
    assert code(response) == (401, "unauthenticated")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.promise("spec/181")
@pytest.mark.parametrize("path", TOKENLESS)
async def test_health_and_the_description_need_no_token(house: House, path: str) -> None:
    assert (await house.as_(None).get(path)).status_code == 200


@pytest.mark.promise("spec/130")
@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("answer", {"text": "Redis"}),
        ("answer", {"text": "Redis", "force": True}),
        ("reject", {}),
        ("snooze", {"for": "1h"}),
        ("extend", {"for": "1h"}),
    ],
)
async def test_an_agent_token_never_does_what_people_do(
    house: House, action: str, body: dict[str, Any]
) -> None:
    asked = await house.asked()
    assert code(await house.post("builder", f"{asked['id']}/{action}", **body)) == (403, "not_allowed")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json() == asked


async def test_people_reject_and_do_not_cancel(house: House) -> None:
    asked = await house.asked()
    assert code(await house.post("ana", f"{asked['id']}/cancel")) == (403, "not_allowed")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/wait"),
        ("GET", "/attachments/0"),
        ("POST", "/cancel"),
        ("POST", "/collect"),
    ],
)
async def test_another_agents_inquiry_does_not_exist_for_an_agent(
    house: House, method: str, path: str
) -> None:
    asked = await house.asked(question="?", attachments=[{"name": "a", "data": "YQ=="}])
    for name in (asked["id"], asked["ref"]):
        response = await house.as_("painter").request(method, f"/v1/inquiries/{name}{path}")
        assert code(response) == (404, "unknown_inquiry")


async def test_an_agent_lists_only_its_own(house: House) -> None:
    await house.asked()
    own = await house.asked("painter")
    listed = (await house.as_("painter").get("/v1/inquiries")).json()["items"]
    assert [item["id"] for item in listed] == [own["id"]]
    assert code(await house.as_("painter").get("/v1/inquiries?agent=builder")) == (403, "unknown_agent")


@pytest.mark.promise("spec/60", "spec/182")
@pytest.mark.parametrize("field", ["agent", "agent_id"])
async def test_an_agent_that_names_another_is_unknown(house: House, field: str) -> None:
    other = await house.as_("builder").post("/v1/inquiries", json=CHOICE | {field: "painter"})
    assert code(other) == (403, "unknown_agent")
    own = await house.as_("builder").post("/v1/inquiries", json=CHOICE | {field: "builder"})
    assert own.status_code == 201


async def test_only_the_askers_own_credentials_collect(house: House) -> None:
    asked = await house.asked()
    await house.answered(asked["id"])
    for by in ("painter", "ana", "root"):
        assert code(await house.post(by, f"{asked['id']}/collect")) == (404, "unknown_inquiry")


async def test_me_says_the_name_and_role_of_the_token(house: House) -> None:
    assert (await house.as_("ana").get("/v1/me")).json() == {"name": "ana", "role": "person"}


async def test_a_new_token_works_until_it_is_revoked(house: House) -> None:
    made = await house.as_("root").post("/v1/tokens", json={"name": "laptop", "role": "agent"})
    assert made.status_code == 201
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    me = await house.as_(None).get("/v1/me", headers=headers)
    assert me.json() == {"name": "laptop", "role": "agent"}
    listed = (await house.as_("root").get("/v1/tokens")).json()
    assert {"name": "laptop", "role": "agent", "created_at": "2027-01-15T08:00:00.000Z"} in listed["items"]
    assert made.json()["token"] not in str(listed)
    revoked = await house.as_("root").delete("/v1/tokens/laptop")
    assert revoked.json() == {"name": "laptop", "revoked": True}
    assert code(await house.as_(None).get("/v1/me", headers=headers)) == (401, "unauthenticated")
    assert code(await house.as_("root").delete("/v1/tokens/laptop")) == (404, "unknown_token")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"role": "agent"},
        {"name": "x", "role": "king"},
        {"name": "a b", "role": "agent"},
        {"name": "ana", "role": "agent"},
    ],
)
async def test_a_bad_token_request_is_refused(house: House, body: dict[str, Any]) -> None:
    assert code(await house.as_("root").post("/v1/tokens", json=body)) == (400, "invalid_request")


@pytest.mark.promise("spec/130")
@pytest.mark.parametrize("by", ["builder", "ana"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/tokens"), ("POST", "/v1/tokens"), ("DELETE", "/v1/tokens/ana"), ("POST", "/v1/backup")],
)
async def test_only_an_admin_manages(house: House, by: str, method: str, path: str) -> None:
    assert code(await house.as_(by).request(method, path)) == (403, "not_allowed")


async def test_an_admin_copies_everything_to_a_file(house: House, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    made = await house.as_("root").post("/v1/backup", json={"path": str(target)})
    assert (made.status_code, made.json()) == (201, {"path": str(target)})
    assert target.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("path", ["copy.db", "", "/tmp/a\0b", 7])
async def test_a_backup_needs_an_absolute_path(house: House, path: object) -> None:
    assert code(await house.as_("root").post("/v1/backup", json={"path": path})) == (400, "invalid_request")


async def test_a_backup_that_cannot_be_written_is_told(house: House, tmp_path: Path) -> None:
    body = {"path": str(tmp_path / "nowhere" / "copy.db")}
    assert code(await house.as_("root").post("/v1/backup", json=body)) == (503, "storage_error")


async def test_metrics_are_not_for_agents(house: House) -> None:
    assert code(await house.as_("builder").get("/metrics")) == (403, "not_allowed")
    assert (await house.as_("ana").get("/metrics")).status_code == 200


async def test_health_tells_the_version_and_that_it_stops(house: House) -> None:
    well = await house.as_(None).get("/healthz")
    assert well.json() == {"status": "ok", "service": "upcall", "version": "1.2.3"}
    await house.broker.close()
    stopping = await house.as_(None).get("/healthz")
    assert (stopping.status_code, stopping.json()["status"]) == (503, "stopping")
    # It does run: a supervisor need not start it again.
    assert (await house.as_(None).get("/livez")).json() == well.json()
