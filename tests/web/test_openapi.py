"""The OpenAPI document is true: it names every route, and what is really sent has the shapes that it promises."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pytest

# Its types are a distribution of their own.
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.routing import Route

from tests.web.house import CHOICE, House, code
from upcall.access.tokens import digest
from upcall.dispatch.answer_links import AnswerLinks
from upcall.domain.roles import Caller, Role
from upcall.web.api.endpoint import Endpoint, Resource
from upcall.web.api.openapi import openapi
from upcall.web.api.operation_ids import OPERATION_IDS
from upcall.web.api.routes import TABLE
from upcall.web.app import Backend, WebSettings, api_routes

DOCUMENT = cast("dict[str, Any]", openapi("1.2.3"))
ENDPOINTS = tuple(chain.from_iterable(TABLE.values()))


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def check(schema: dict[str, Any], value: object) -> None:
    whole = {"components": DOCUMENT["components"], **schema}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(value)


def schema_of(path: str, method: str, status: int) -> dict[str, Any]:
    responses = DOCUMENT["paths"][path][method]["responses"]
    found: dict[str, Any] = responses[str(status)]["content"]["application/json"]["schema"]
    return found


@pytest.mark.promise("house/8")
@pytest.mark.promise("spec/69")
async def test_it_names_every_route_and_no_other(house: House) -> None:
    served: set[tuple[str, str]] = set()
    public: set[tuple[str, str]] = set()
    backend = Backend(
        broker=house.broker,
        access=house.access,
        runs=house.runs,
        settings=WebSettings(version="1"),
        links=AnswerLinks(house.broker, house.access),
    )
    for route in api_routes(backend):
        assert isinstance(route, Route)
        assert isinstance(route.endpoint, Resource)
        for method, (_, allowed, _) in route.endpoint.served.items():
            served.add((route.path, method.lower()))
            public |= {(route.path, method.lower())} if allowed.role is None else set()
    assert {(path, method) for path, method, _ in _operations()} == served
    assert {(path, method) for path, method, each in _operations() if each.get("security") == []} == public


def test_every_operation_has_a_summary_that_says_who_may_call_it() -> None:
    for endpoint in ENDPOINTS:
        operation = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
        summary = operation["summary"]
        assert summary[0].isupper(), endpoint.route
        assert summary.endswith("(admin)") == (endpoint.allowed.role is Role.ADMIN), endpoint.route
        assert summary.endswith("person or admin)") == (endpoint.allowed.role is Role.PERSON), endpoint.route


@pytest.mark.promise("house/8")
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.route)
async def test_a_route_is_for_its_role_and_refuses_every_lower_one(house: House, endpoint: Endpoint) -> None:
    path = endpoint.path.format(name="z9", number=1)
    callers = {None: None, Role.AGENT: "builder", Role.PERSON: "ana", Role.ADMIN: "root"}
    for role, by in callers.items():
        if role == endpoint.allowed.role:
            break
        refused = code(await house.as_(by).request(endpoint.method, path))
        assert refused == ((401, "unauthenticated") if by is None else (403, "not_allowed"))
    if not any("text/event-stream" in str(each) for each in endpoint.replies.values()):
        response = await house.as_(callers[endpoint.allowed.role]).request(endpoint.method, path)
        assert response.status_code not in {401, 403}, response.text


@pytest.mark.promise("doorway/30")
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.route)
async def test_a_monitor_reads_numbers_and_is_refused_everything_else(
    house: House, endpoint: Endpoint
) -> None:
    await house.asked()
    path = endpoint.path.format(name="a1", number=1)
    response = await house.as_("watcher").request(endpoint.method, path)
    if endpoint.route in {"GET /metrics", "GET /v1/me"} or endpoint.allowed.role is None:
        assert response.status_code == 200
        assert "Which cache?" not in response.text or endpoint.route == "GET /v1/openapi.json"
    else:
        assert code(response) == (403, "not_allowed")


async def test_it_is_served_as_it_is(house: House) -> None:
    assert (await house.as_(None).get("/v1/openapi.json")).json() == DOCUMENT


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for reference in _references(DOCUMENT):
        target: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


@pytest.mark.promise("doorway/27")
def test_the_document_is_valid_openapi() -> None:
    # Its defaults are checked too: one that its own schema does not allow is an error.
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


@pytest.mark.promise("doorway/27")
def test_every_operation_has_a_name_of_its_own_and_an_example() -> None:
    ids: list[str] = [operation["operationId"] for _, _, operation in _operations()]
    assert {endpoint.route for endpoint in ENDPOINTS} == set(OPERATION_IDS)
    assert sorted(ids) == sorted(OPERATION_IDS.values())
    assert len(set(ids)) == len(ids)
    for path, method, operation in _operations():
        replies = (each.get("content", {}) for each in operation["responses"].values())
        shown = ["example" in content for reply in replies for content in reply.values()]
        # The reply to HEAD has no body.
        assert all(shown) if method == "head" else shown and all(shown), f"{method} {path}"


def test_every_parameter_in_a_path_is_described() -> None:
    for path, _, operation in _operations():
        named = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        described = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert named == described, path


def test_every_example_has_the_shape_it_stands_for() -> None:
    checked = 0
    for _, _, operation in _operations():
        replies = operation["responses"].values()
        for body in (
            operation.get("requestBody", {}),
            *replies,
            DOCUMENT["components"]["responses"]["Error"],
        ):
            for content in body.get("content", {}).values():
                check(content["schema"], content["example"])
                checked += 1
    assert checked > 2 * len(OPERATION_IDS)


async def test_the_example_of_asking_can_be_asked(house: House) -> None:
    body = DOCUMENT["paths"]["/v1/inquiries"]["post"]["requestBody"]["content"]["application/json"]["example"]
    await house.asked(**body)


@pytest.mark.promise("spec/160")
@pytest.mark.parametrize(
    "ending", ["open", "answered", "rejected", "cancelled", "expired", "default", "collected"]
)
async def test_an_inquiry_in_every_state_has_the_promised_shape(house: House, ending: str) -> None:
    whole = {
        "header": "Cache",
        "multiSelect": True,
        "context": "c",
        "session": "s",
        "thread": "t",
        "workspace": "w",
    }
    options = [{"label": "Redis", "recommended": True, "preview": "x"}, {"label": "Memcached"}]
    extras: dict[str, dict[str, Any]] = {"default": {"default": "Redis", "ttl": 60}, "expired": {"ttl": 60}}
    files = [{"name": "a.txt", "media_type": "text/plain", "data": "YQ=="}]
    asked = await house.asked(
        **CHOICE | whole | {"options": options, "attachments": files} | extras.get(ending, {})
    )
    check(schema_of("/v1/inquiries", "post", 201), asked)
    if ending in {"expired", "default"}:
        house.clock.now += 61
    steps = {
        "open": ("ana", "snooze", {"for": "1h"}),
        "rejected": ("ana", "reject", {"reason": "no"}),
        "cancelled": ("builder", "cancel", {}),
        "collected": ("builder", "collect", {}),
    }
    if ending == "collected":
        await house.answered(asked["id"])
    by, action, body = steps.get(ending, ("ana", "answer", {"answers": [["Redis"]]}))
    settled = (await house.post(by, f"{asked['id']}/{action}", **body)).json()
    check(schema_of("/v1/inquiries/{name}/" + action, "post", 200), settled)
    wanted = {"default": "answered", "collected": "answered"}.get(ending, ending)
    assert settled["inquiry"]["state"] == wanted
    check(schema_of("/v1/inquiries/{name}", "get", 200), settled["inquiry"])


@pytest.mark.promise("spec/180")
async def test_lists_and_events_have_the_promised_shape(house: House) -> None:
    for _ in range(2):
        asked = await house.asked()
        await house.post("ana", f"{asked['id']}/snooze", **{"for": "1h"})
        await house.post("ana", f"{asked['id']}/extend", **{"for": "30h"})
        await house.answered(asked["id"])
    for path in ("/v1/inquiries", "/v1/events", "/v1/tokens", "/v1/me"):
        response = await house.as_("root").get(path)
        check(schema_of(path, "get", 200), response.json())
    page = (await house.as_("root").get("/v1/inquiries?limit=1")).json()
    assert page["next"]
    check(schema_of("/v1/inquiries", "get", 200), page)


async def test_the_rest_has_the_promised_shape(house: House, tmp_path: Path) -> None:
    made = await house.as_("root").post("/v1/tokens", json={"name": "x", "role": "agent"})
    check(schema_of("/v1/tokens", "post", 201), made.json())
    check(
        schema_of("/v1/tokens/{name}", "delete", 200), (await house.as_("root").delete("/v1/tokens/x")).json()
    )
    copied = await house.as_("root").post("/v1/backup", json={"path": str(tmp_path / "copy.db")})
    check(schema_of("/v1/backup", "post", 201), copied.json())
    for path in ("/healthz", "/livez"):
        check(schema_of(path, "get", 200), (await house.as_(None).get(path)).json())
        assert (await house.as_(None).head(path)).status_code == 200
    asked = await house.asked()
    waited = await house.as_("builder").get(f"/v1/inquiries/{asked['id']}/wait?timeout=0")
    check(schema_of("/v1/inquiries/{name}/wait", "get", 200), waited.json())


async def test_runs_have_the_promised_shape(house: House) -> None:
    ana = house.as_("ana")
    body = DOCUMENT["paths"]["/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["example"]
    begun = (await ana.post("/v1/runs", json=body)).json()
    check(schema_of("/v1/runs", "post", 201), begun)
    await house.runs.write(1, "a line")
    said = (await ana.post("/v1/runs/1/say", json={"text": "go on"})).json()
    check(schema_of("/v1/runs/{number}/say", "post", 200), said)
    await house.runs.become(1, cost=0.5, input_tokens=7, output_tokens=9, exit_code=0)
    for action, method in (("log", "get"), ("cancel", "post"), ("attach", "post"), ("retry", "post")):
        response = await ana.request(method, f"/v1/runs/1/{action}")
        check(schema_of("/v1/runs/{number}/" + action, method, 200), response.json())
    check(schema_of("/v1/runs/{number}", "get", 200), (await ana.get("/v1/runs/1")).json())
    check(schema_of("/v1/runs", "get", 200), (await ana.get("/v1/runs?limit=1")).json())


@pytest.mark.promise("spec/179")
async def test_an_inquiry_of_a_run_has_the_promised_shape(house: House) -> None:
    house.access.lend(digest("of-run"), Caller(name="scripted", role=Role.AGENT, run=1))
    house.secrets["of-run"] = "of-run"
    asked = await house.asked("of-run", **CHOICE)
    house.runs.resumes[asked["id"]] = {
        "state": "failed",
        "run": 1,
        "attempts": 3,
        "error": "session gone",
        "next_try": None,
        "command": None,
    }
    answered = await house.answered(asked["id"])
    assert answered["resume"]["attempts"] == 3
    check(schema_of("/v1/inquiries/{name}", "get", 200), answered)


@pytest.mark.promise("spec/158")
async def test_errors_have_the_promised_shape(house: House) -> None:
    error = DOCUMENT["components"]["responses"]["Error"]["content"]["application/json"]["schema"]
    for path in ("/v1/inquiries/z9", "/nowhere", "/v1/inquiries?limit=0"):
        check(error, (await house.as_("ana").get(path)).json())
    check(error, (await house.as_(None).get("/v1/me")).json())


def _references(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                if name == "$ref":
                    yield item
                else:
                    yield from _references(item)
        case list():
            for item in value:
                yield from _references(item)
        case _:
            pass
