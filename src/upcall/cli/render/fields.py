"""What a field of a typed form takes, in one line."""

from collections.abc import Mapping
from typing import Any

from upcall.domain.inquiry.field_rules import rules_of


def expected(question: Mapping[str, Any]) -> str:
    """The rules of a field, and whether it may be left out; empty for a question without a schema."""
    field: Mapping[str, Any] | None = question.get("field")
    if field is None:
        return ""
    return rules_of(field["schema"], ", ".join(field["default"]), required=field["required"])
