"""Examples of what the API replies with, made from the schemas: a value for each name, so that one story runs through all of them.

A field that is added to a schema is in its examples at once; a name that says more than its type gets a line in `NAMED`.
"""

from collections.abc import Mapping
from typing import cast

from upcall.web.api.schemas.words import Schema

ASKED_AT, ANSWERED_AT = "2030-01-31T09:00:00.000Z", "2030-01-31T09:01:00.000Z"
NAMED: Mapping[str, object] = {
    "accepted": True,
    "active": True,
    "agent": "builder",
    "argv": ["claude", "--resume", "5f0c6f3e"],
    "as": "prefix",
    "asker": "builder",
    "attachments": [],
    "by": "ana",
    "channel": "slack",
    "code": "unknown_inquiry",
    "custom": True,
    "cwd": "/home/ana/shop",
    "description": "has pub/sub",
    "directory": "/home/ana/shop",
    "door": "http",
    "expires_at": "2030-01-31T11:00:00.000Z",
    "expires_in": 600,
    "header": "Cache",
    "hint": "`upcall status` lists the open ones",
    "id": "01m7gn4tb3a8wy6zs1hymq968r",
    "inquiry": "01m7gn4tb3a8wy6zs1hymq968r",
    "kind": "ask_user_question",
    "label": "Redis",
    "message": "there is no inquiry 'z9'",
    "name": "ana",
    "next": None,
    "number": 12,
    "ok": True,
    "option": "Redis",
    "path": "/backups/upcall.db",
    "person": "ana",
    "place": "C0123456789",
    "places": ["C0123456789"],
    "prefix": "npm test",
    "problem": "invalid_auth",
    "prompt_id": "prm_01m7gn4tb3a8wy6zs1hymq968r",
    "question": "Which cache?",
    "ref": "a7",
    "removed": True,
    "request_key": "call_17",
    "revoked": True,
    "run": 12,
    "seq": 42,
    "service": "upcall",
    "session": "builder",
    "task": "Fix the flaky test",
    "text": "Redis",
    "note": "",
    "thread": "shop-42",
    "title": "The shop",
    "token": "upcall_agent_…",
    "tool": "Bash",
    "type": "asked",
    "url": "https://upcall.example.com/…",
    "user": "U0123456789",
    "version": "1.0.0",
    "via": "slack",
}
CHANGED: Mapping[str, Schema] = {
    "Settled": {
        "inquiry": {
            "state": "answered",
            "answer": {
                "answers": [["Redis"]],
                "text": "Redis",
                "note": "",
                "edit": None,
                "files": [],
                "by": "ana",
                "via": "api",
                "at": ANSWERED_AT,
                "forwarded_at": None,
                "collected_at": None,
            },
            "resolution": {"state": "answered", "by": "ana", "via": "api", "at": ANSWERED_AT, "reason": None},
        }
    },
}
"""What differs in a schema's example from the fields' own."""


def example(schema: Schema, schemas: Mapping[str, Schema], name: str = "") -> object:
    """A value of that shape. `name` is what the field is called, if it is one."""
    if "$ref" in schema:
        named = str(schema["$ref"]).rpartition("/")[2]
        return _changed(example(schemas[named], schemas), CHANGED.get(named, {}))
    shapes = cast("list[Schema] | None", schema.get("oneOf"))
    if shapes is not None:
        return None if {"type": "null"} in shapes else example(shapes[0], schemas, name)
    if "const" in schema:
        return schema["const"]
    values = cast("list[object] | None", schema.get("enum"))
    if values is not None:
        return NAMED[name] if NAMED.get(name) in values else values[0]
    kinds = cast("list[str]", schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
    if "object" in kinds:
        fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
        return {each: example(shape, schemas, each) for each, shape in fields.items()}
    if "null" in kinds:
        return None
    return _plain(schema, kinds[0], schemas, name)


def _plain(schema: Schema, kind: str, schemas: Mapping[str, Schema], name: str) -> object:
    given = NAMED.get(name)
    match kind:
        case "array" if isinstance(given, list):
            return cast("list[object]", given)
        case "array":
            items = cast("Schema", schema["items"])
            # One of a shape shows the shape; of plain text, none is the usual.
            return [] if items.get("type") == "string" else [example(items, schemas)]
        case "boolean":
            return given is True
        case "integer" | "number":
            return (
                given if isinstance(given, int) and not isinstance(given, bool) else schema.get("minimum", 1)
            )
        case _:
            if isinstance(given, str):
                return given
            return ASKED_AT if schema.get("format") == "date-time" else ""


def _changed(value: object, changes: Schema) -> object:
    """An object with some of its fields replaced, those of objects in it one by one."""
    if not changes:
        return value
    fields = cast("dict[str, object]", value)
    return fields | {
        name: _changed(fields[name], cast("Schema", new))
        if isinstance(new, dict) and isinstance(fields[name], dict)
        else new
        for name, new in changes.items()
    }
