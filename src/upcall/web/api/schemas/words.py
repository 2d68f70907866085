"""The words of JSON Schema in which every shape is written, and the values that the domain enumerates."""

from upcall.domain.approval.rules import WAYS
from upcall.domain.inquiry.inquiry import STATE_NAMES, Kind, OnExpiry
from upcall.domain.roles import Role
from upcall.domain.run.program import Permission
from upcall.domain.run.run import RunState

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
MOMENT: Schema = {"type": "string", "format": "date-time"}
MOMENT_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
OBJECT: Schema = {"type": "object"}
DURATION: Schema = {
    "oneOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^[0-9.]+ ?[smhd]?$"},
    ],
    "description": "Seconds, or text like `90s`, `10m`, `24h`, `2d`: more than 0 and at most a year.",
}
WAIT_SPAN: Schema = {
    "oneOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^[0-9.]+ ?[smhd]?$"}],
    "description": "Seconds, or text like `90s` or `10m`; 0 replies at once.",
}
KIND: Schema = {"enum": [kind.value for kind in Kind]}
STATE: Schema = {"enum": list(STATE_NAMES.values())}
LISTED_STATE: Schema = {"enum": [*STATE_NAMES.values(), "queued", "closed"]}
"""What a list can be narrowed to."""
ON_EXPIRY: Schema = {"enum": [choice.value for choice in OnExpiry]}
WAY: Schema = {"enum": list(WAYS)}
RUN_STATE: Schema = {"enum": [state.value for state in RunState]}
PERMISSION: Schema = {"enum": [choice.value for choice in Permission]}
PERMISSIONS: Schema = {"enum": ["approval", "autonomous"]}
"""Of a thread."""
TOKEN: Schema = {"name": TEXT, "role": {"enum": [role.value for role in Role]}}
VARIABLES: Schema = {"type": "object", "additionalProperties": TEXT}
THREAD_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"}


def ref(name: str) -> Schema:
    """A reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def noted(schema: Schema, description: str, **more: object) -> Schema:
    """A schema that says what it is."""
    return {**schema, "description": description, **more}


def text(least: int = 0, most: int = 0) -> Schema:
    """Text with bounds; 0 is none."""
    return TEXT | ({"minLength": least} if least else {}) | ({"maxLength": most} if most else {})


def list_of(schema: Schema, **more: object) -> Schema:
    """A list of something."""
    return {"type": "array", "items": schema, **more}


def or_null(schema: Schema) -> Schema:
    """Something, or nothing."""
    return {"oneOf": [schema, {"type": "null"}]}


def record(properties: Schema, *, optional: tuple[str, ...] = (), **more: object) -> Schema:
    """An object that we write: every field is there unless it is optional, and there are no others."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **more,
    }


def page_of(name: str, **optional: Schema) -> Schema:
    """A page of a list, the cursor of the next page, and what else may be there."""
    following = noted(TEXT_OR_NULL, "The `cursor` of the following page.")
    return record({"items": list_of(ref(name)), "next": following, **optional}, optional=tuple(optional))


def form(properties: Schema, *, required: tuple[str, ...] = (), **more: object) -> Schema:
    """An object that we are sent."""
    return {"type": "object", "properties": properties, "required": list(required), **more}


ANSWERS = list_of(list_of(TEXT), description="One list for each question.")


FIELD = noted(
    record(
        {
            "name": TEXT,
            "title": TEXT,
            "required": FLAG,
            "default": noted(list_of(TEXT), "The answer if it is left out."),
            "schema": OBJECT,
        }
    ),
    "The property of `response_schema` that it asks for, of a form.",
)
ACTIVITY = record(
    {
        "task": TEXT,
        "branch": TEXT,
        "turn": noted(COUNT_OR_NULL, "How often its model has spoken."),
        "message": noted(TEXT, "The agent's last words before it asked."),
        "calls": list_of(record({"tool": TEXT, "input": TEXT}), description="Its last three tool calls."),
        "plan": noted(TEXT, "The steps of the plan that it follows, as Markdown."),
    }
)
