"""What a field of a typed form takes, in one line."""

from collections.abc import Mapping
from typing import Any

KINDS = {"integer": "a whole number", "number": "a number"}
FORMATS = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.org/",
    "date": "a day such as 2026-12-01",
    "date-time": "a time such as 2026-12-01T09:30:00Z",
}


def expected(question: Mapping[str, Any]) -> str:
    """The rules of a field, and whether it may be left out; empty for a question without a schema."""
    field: Mapping[str, Any] | None = question.get("field")
    if field is None:
        return ""
    schema: Mapping[str, Any] = field["schema"]
    kind = KINDS.get(schema.get("type", "")) or FORMATS.get(schema.get("format", ""), "")
    said = [f"{kind} {_between(schema, 'minimum', 'maximum')}".strip()]
    said += [_between(schema, "minLength", "maxLength", " characters")]
    said += [_between(schema, "minItems", "maxItems", " of them")]
    if field["default"]:
        said += [f"{', '.join(field['default'])} if left out"]
    elif not field["required"]:
        said += ["can be left out"]
    return "; ".join(filter(None, said))


def _between(schema: Mapping[str, Any], least: str, most: str, what: str = "") -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f"from {low} to {high}{what}"
    if low is not None:
        return f"at least {low}{what}"
    return f"at most {high}{what}" if high is not None else ""
