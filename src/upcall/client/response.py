"""The type of an answer: from a dataclass or a pydantic model to the schema of a form, and from the form to a value.

The daemon asks the form and holds people to its schema. What it cannot express, such as a validator of a model, is checked
here, when the answer has come.
"""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from upcall.client.errors import UnfitResponse
from upcall.client.outcome import Answered, Outcome

T = TypeVar("T")

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}


def schema_of(response: type | Mapping[str, Any]) -> Schema:
    """The JSON Schema of a dataclass or a pydantic model, as the field `response_schema` of a question.

    Metadata of a dataclass's field are further words of its schema, such as `title`, `description` or `minimum`. A schema is
    taken as it is.

    Raises:
        TypeError: if it is neither, or has a field that no form could ask for.
    """
    if isinstance(response, Mapping):
        return dict(response)
    if hasattr(response, "model_json_schema"):
        schema: Schema = response.model_json_schema()
        return schema
    if not dataclasses.is_dataclass(response):
        raise TypeError(f"response: a dataclass or a pydantic model, got {response!r}")
    hints = get_type_hints(response)
    asked = [each for each in dataclasses.fields(response) if each.init]
    return {
        "type": "object",
        "properties": {each.name: _property(each, hints[each.name]) for each in asked},
        "required": [
            each.name for each in asked if _is_required(each) and not _is_optional(hints[each.name])
        ],
    }


def typed(ended: Outcome[str], response: type[T] | Mapping[str, Any]) -> Outcome[T]:
    """The same outcome, an answer with its `value` of that type; for a schema, what was filled in as it came.

    Raises:
        UnfitResponse: if what the person filled in does not make one.
    """
    if not isinstance(ended, Answered):
        return ended
    content: Mapping[str, Any] = ended.inquiry["answer"].get("content") or {}
    if isinstance(response, Mapping):
        return cast("Answered[T]", dataclasses.replace(ended, value=cast("Any", content)))
    try:
        value: Any = _value(content, response)
        return cast("Answered[T]", dataclasses.replace(ended, value=value))
    except (TypeError, ValueError) as problem:
        # A pydantic model raises a ValueError too.
        raise UnfitResponse(
            f"the answer to {ended.ref} does not make a {response.__name__}: {problem}",
            hint="loosen the type, or ask again with another key and say what is wrong",
        ) from problem


def _value(content: Mapping[str, Any], response: type[T]) -> T:
    validate = getattr(response, "model_validate", None)
    if validate is not None:
        model: T = validate(content)
        return model
    hints = get_type_hints(response)
    # `schema_of` has found that it is a dataclass.
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cast("Any", response))
    # An optional field without a default of its own is None where it was left out.
    left_out = {
        each.name: None
        for each in fields
        if each.init and _is_required(each) and _is_optional(hints[each.name])
    }
    return response(**left_out, **{name: _read(value, hints[name]) for name, value in content.items()})


def _property(field: "dataclasses.Field[Any]", hint: Any) -> Schema:
    schema = _schema(_present(hint))
    if schema is None:
        raise TypeError(
            f"response: no form could ask for {field.name!r} of type {hint!r}; take texts, numbers, booleans, dates, "
            "literals, enums or lists of the last two"
        )
    if field.default is not dataclasses.MISSING and field.default is not None:
        schema["default"] = _plain(field.default)
    return schema | dict(field.metadata)


def _schema(hint: Any) -> Schema | None:
    """The schema of a type; None where a form has no such field."""
    if (choices := _choices(hint)) is not None:
        number = all(isinstance(each, int) and not isinstance(each, bool) for each in choices)
        return {"type": "integer" if number else "string", "enum": choices}
    if get_origin(hint) in {list, tuple, set, frozenset, Sequence}:
        chosen = _choices(get_args(hint)[0])
        return None if chosen is None else {"type": "array", "items": {"type": "string", "enum": chosen}}
    return dict(_PLAIN[hint]) if hint in _PLAIN else None


def _choices(hint: Any) -> list[Any] | None:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [each.value for each in hint]
    return None


def _read(value: Any, hint: Any) -> Any:
    """A value of JSON as the type that was asked for."""
    hint = _present(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint in {date, datetime}:
        return hint.fromisoformat(value)
    origin: Any = get_origin(hint)
    if origin in {list, tuple, set, frozenset, Sequence}:
        kind = list if origin is Sequence else origin
        return kind(_read(each, get_args(hint)[0]) for each in value)
    return float(value) if hint is float else value


def _plain(value: Any) -> Any:
    """A default as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(each) for each in value] if isinstance(value, list | tuple | set | frozenset) else value


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in {Union, types.UnionType} and type(None) in get_args(hint)


def _present(hint: Any) -> Any:
    """The type of a field that was not left out."""
    if not _is_optional(hint):
        return hint
    others = [each for each in get_args(hint) if each is not type(None)]
    return others[0] if len(others) == 1 else hint
