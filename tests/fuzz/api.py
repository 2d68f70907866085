"""The API, fuzzed from its OpenAPI document: requests that fit the schema and requests that do not, each by every kind of caller."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast
from urllib.parse import quote

import httpx2
import schemathesis
from hypothesis import Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy

# Its types are a distribution of their own.
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from schemathesis import Case, GenerationMode
from schemathesis.core import NotSet

from tests.fuzz.inputs import LENIENT
from tests.web.house import ROLES, House, code
from upcall.web.api.openapi import openapi

Request = Case[Any]
CALLERS = (None, *(name for name in ROLES if name not in {"painter", "ben"}))
STREAMS = {"GET /v1/stream", "GET /v1/agent-questions"}
"""Without an end."""

WAITS = {"timeout", "wait"}
"""How long a request may take: none of them is to wait here."""

DOCUMENT = cast("dict[str, Any]", openapi("1.2.3"))


def cases(examples: int, begin: int = 0) -> Iterator[tuple[str, Request]]:
    """So many requests of each operation that fit, and as many that do not; the same for the same `begin`."""
    every: Any = schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()
    for found in every:
        # The document is valid, which other tests show.
        operation = found.ok()
        if operation.label in STREAMS:
            continue
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            # Nothing can be wrong with a request that takes nothing.
            with suppress(Unsatisfiable):
                strategy = operation.as_strategy(generation_mode=mode)
                yield from ((operation.label, case) for case in _drawn(strategy, examples, begin))


def _drawn(strategy: SearchStrategy[Request], examples: int, begin: int) -> list[Request]:
    made: list[Request] = []

    @seed(begin)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=LENIENT,
        phases=[Phase.generate],
    )
    @given(strategy)
    def keep(case: Request) -> None:
        made.append(case)

    keep()
    return made


async def names_in(house: House) -> dict[str, str]:
    """What there is of each resource, by the first word of its path."""
    asked = await house.asked()
    await house.as_("builder").post("/v1/threads", json={"id": "shop", "title": "The shop"})
    await house.as_("ana").post("/v1/runs", json={"agent": "scripted", "task": "x", "cwd": "/srv"})
    await house.as_("root").post("/v1/tokens", json={"name": "spare", "role": "agent"})
    rule = await house.as_("ana").post("/v1/rules", json={"tool": "Bash"})
    return {
        "inquiries": asked["id"],
        "threads": "shop",
        "tokens": "spare",
        "people": "ana",
        "rules": rule.json()["id"],
        "runs": "1",
    }


async def sent(house: House, caller: str | None, case: Request, names: dict[str, str]) -> httpx2.Response:
    """The reply to a request; `names` stand in its path, so that there is something to be done."""
    resource = case.path.removeprefix("/v1/").split("/")[0]
    values: dict[str, object] = {**(case.path_parameters or {})}
    if resource in names and ("name" in values or "number" in values):
        values["number" if resource == "runs" else "name"] = names[resource]
    path = case.path
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = {name: "0" if name in WAITS else value for name, value in (case.query or {}).items()}
    for name in WAITS & _parameters(case.path, case.method):
        query[name] = "0"
    body = None if isinstance(case.body, NotSet) else json.dumps(case.body).encode("utf-8", "replace")
    return await house.as_(caller).request(case.method, path, params=cast("Any", query), content=body)


def fault(label: str, response: httpx2.Response) -> str | None:
    """What is wrong with a reply: a fault of ours, an error without its form, or a shape that was not promised."""
    if response.status_code >= 500 and label.split()[1] != "/healthz":
        return f"{response.status_code}: {response.text[:200]}"
    if response.status_code >= 400:
        with suppress(KeyError, ValueError, AssertionError):
            if label.startswith("HEAD") or code(response):
                return None
        return f"{response.status_code} without the form of an error: {response.text[:200]}"
    validator = _validator(label, str(response.status_code))
    problems = [] if validator is None else list(validator.iter_errors(response.json()))
    return problems[0].message[:300] if problems else None


async def fuzzed(house: House, examples: int, begin: int = 0) -> tuple[Counter[str], list[str]]:
    """How many requests each caller has sent, and what was wrong with the replies."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    names = await names_in(house)
    for label, case in cases(examples, begin):
        for caller in CALLERS:
            response = await sent(house, caller, case, names)
            counts[caller or "no token"] += 1
            if problem := fault(label, response):
                faults.append(f"{label} by {caller}: {problem}: {case.query} {str(case.body)[:300]}")
    return counts, faults


@cache
def _validator(label: str, status: str) -> Any:
    method, path = label.split(" ")
    described = DOCUMENT["paths"][path][method.lower()]["responses"].get(status, {})
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else Draft202012Validator({"components": DOCUMENT["components"], **schema})


@cache
def _parameters(path: str, method: str) -> set[str]:
    return {each["name"] for each in DOCUMENT["paths"][path][method.lower()].get("parameters", [])}
