"""The OpenAPI document, generated from the route table and the schemas that it names."""

import re
from collections.abc import Mapping
from typing import cast

from upcall.domain.inquiry.limits import Limits
from upcall.domain.roles import Role
from upcall.web.api.endpoint import JSON, Endpoint, path
from upcall.web.api.operation_ids import OPERATION_IDS
from upcall.web.api.routes import TABLE
from upcall.web.api.schemas import schemas
from upcall.web.api.schemas.examples import example
from upcall.web.api.schemas.words import TEXT, Schema, ref

DESCRIPTION = """\
Agents ask, people answer. An agent's token asks and waits for its own and can never answer; a person's token
answers; an admin's token also manages tokens; a monitor's token reads metrics and nothing else. Send it as `Authorization: Bearer TOKEN`.

Errors are `{"error": {"code", "message", "hint"}}`; codes are stable. Durations are seconds, or text like `10m`.
A `{name}` is an inquiry's id or ref; a ref finds the open inquiry, otherwise the latest that had it.
"""
CALLERS = {Role.PERSON: " (person or admin)", Role.ADMIN: " (admin)"}
IN_PATH: dict[str, Schema] = {"name": TEXT, "number": {"type": "integer", "minimum": 1}}
"""The parameters of paths, where a route describes none of that name itself."""


def openapi(version: str, limits: Limits = Limits()) -> Schema:
    """The whole document."""
    paths: dict[str, Schema] = {}
    shapes = schemas(limits)
    for tag, endpoints in TABLE.items():
        for each in endpoints:
            paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, tag, shapes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Upcall",
            "version": version,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": shapes,
            "responses": {
                "Error": _with_example(
                    {"description": "What went wrong.", "content": {JSON: {"schema": ref("Error")}}}, shapes
                )
            },
        },
    }


def _operation(endpoint: Endpoint, tag: str, shapes: Mapping[str, Schema]) -> Schema:
    replies: Schema = {str(status): _with_example(each, shapes) for status, each in endpoint.replies.items()}
    described: Schema = {
        "operationId": OPERATION_IDS[endpoint.route],
        "summary": _summary(endpoint),
        "tags": [tag],
        "responses": {**replies, "default": {"$ref": "#/components/responses/Error"}},
    }
    parameters = [*_in_path(endpoint), *endpoint.parameters]
    if parameters:
        described["parameters"] = parameters
    if endpoint.body is not None:
        described["requestBody"] = endpoint.body
    if endpoint.allowed.role is None:
        described["security"] = []
    return described


def _with_example(response: Schema, shapes: Mapping[str, Schema]) -> Schema:
    """A response with an example of its JSON."""
    content = cast("Mapping[str, Schema]", response.get("content", {}))
    if JSON not in content:
        return response
    described = content[JSON]
    made = example(cast("Schema", described["schema"]), shapes)
    return {**response, "content": {**content, JSON: {**described, "example": made}}}


def _summary(endpoint: Endpoint) -> str:
    first, _, _ = (endpoint.handler.__doc__ or endpoint.handler.__name__).partition("\n")
    role = endpoint.allowed.role
    callers = "" if role is None else CALLERS.get(role, "")
    if callers and endpoint.allowed.monitors:
        callers = callers.replace("(", "(monitor, ")
    return first.removesuffix(".") + callers


def _in_path(endpoint: Endpoint) -> list[Schema]:
    described = {each["name"] for each in endpoint.parameters if each["in"] == "path"}
    names = re.findall(r"{(\w+)}", endpoint.path)
    return [path(name, IN_PATH[name]) for name in names if name not in described]
