"""Reads a `response_schema`: the JSON Schema of the answer that an asker wants, as the questions of a form.

It is the subset that forms of MCP have: a flat object of texts, numbers, booleans, choices and lists of choices. Anything
that a form could not hold a person to is refused, naming the property.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.field import BOUNDS, NO, YES, Field, FieldType, Format
from upcall.domain.inquiry.fitting import answer_to, fit
from upcall.domain.inquiry.inquiry import Option, Question
from upcall.domain.inquiry.limits import Limits
from upcall.domain.text import forms
from upcall.domain.text.forms import Fields, kind_of

MOST_FIELDS = 20
MOST_CHOICES = 50
LONGEST_TITLE = 100

EXAMPLE = (
    'for example {"type": "object", "properties": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}}, '
    '"required": ["port"]}'
)

_ANNOTATIONS = frozenset(
    {"$comment", "$schema", "$id", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
_OF_OBJECTS = _ANNOTATIONS | {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "$defs",
    "definitions",
}
_OF_ANY = _ANNOTATIONS | {"type", "default"}
_OF_CHOICES = _OF_ANY | {"enum", "enumNames", "oneOf", "anyOf", "const"}
_OF_NUMBERS = _OF_CHOICES | {"minimum", "maximum", "format"}
_KEYWORDS: Mapping[FieldType, frozenset[str]] = {
    FieldType.STRING: _OF_CHOICES | {"format", "minLength", "maxLength"},
    FieldType.NUMBER: _OF_NUMBERS,
    FieldType.INTEGER: _OF_NUMBERS | {"exclusiveMinimum", "exclusiveMaximum"},
    FieldType.BOOLEAN: _OF_ANY,
    FieldType.ARRAY: _OF_ANY | {"items", "minItems", "maxItems", "uniqueItems"},
}


def form_in(sent: object, message: str, limits: Limits) -> tuple[Question, ...]:
    """The questions of a form; a form of one field asks it in the words of the whole.

    Raises:
        InvalidInquiry: if it is no schema of a form; the error names the property and shows a valid one.
    """
    schema = _mapping(forms.parsed(sent), "response_schema")
    if schema.get("type", "object") != "object":
        raise _invalid("type", f"object, got {schema['type']!r}")
    _only(schema, _OF_OBJECTS, "")
    properties = _mapping(schema.get("properties"), "properties")
    if not 1 <= len(properties) <= MOST_FIELDS:
        raise _invalid("properties", f"1 to {MOST_FIELDS} of them, got {len(properties)}")
    required = _required(schema.get("required"), properties)
    shared = schema.get("$defs", schema.get("definitions"))
    known = {} if shared is None else _mapping(shared, "$defs")
    wording = message if len(properties) == 1 else ""
    return tuple(
        _question(
            name, _resolved(each, known, f"properties.{name}"), wording, limits, required=name in required
        )
        for name, each in properties.items()
    )


def _required(sent: object, properties: Fields) -> frozenset[str]:
    if sent is None:
        return frozenset()
    names = [str(name) for name in _sequence(sent, "required")]
    unknown = [name for name in names if name not in properties]
    if unknown:
        raise _invalid("required", f"there is no property {unknown[0][:100]!r}")
    return frozenset(names)


def _resolved(sent: object, known: Fields, path: str) -> Fields:
    """A property with a reference and an optional type followed, as generators of schemas write both."""
    schema = _mapping(sent, path)
    either = schema.get("anyOf")
    if isinstance(either, list):
        each = cast("list[object]", either)
        kinds = [one for one in each if one != {"type": "null"}]
        if len(kinds) == 1 < len(each):
            rest = {name: value for name, value in schema.items() if name != "anyOf"}
            rest = {name: value for name, value in rest.items() if not (name == "default" and value is None)}
            schema = {**_mapping(kinds[0], path), **rest}
    reference = schema.get("$ref")
    if reference is None:
        return schema
    name = str(reference).rpartition("/")[2]
    if name not in known:
        raise _invalid(f"{path}.$ref", f"one of $defs, got {str(reference)[:100]!r}")
    rest = {name: value for name, value in schema.items() if name != "$ref"}
    return {**_mapping(known[name], f"$defs.{name}"), **rest}


def _question(name: str, schema: Fields, message: str, limits: Limits, *, required: bool) -> Question:
    path = f"properties.{name[:LONGEST_TITLE]}"
    if not name.strip():
        raise _invalid("properties", "a name for each of them")
    type_ = _type(schema, path)
    _only(schema, _KEYWORDS[type_], f"{path}.")
    title = _text(schema, "title", path, LONGEST_TITLE) or " ".join(name[:LONGEST_TITLE].split())
    description = _text(schema, "description", path, limits.question)
    least, most = _bounds(type_, schema, path)
    field = Field(
        name=name,
        title=title,
        type=type_,
        format=_format(schema, path) if type_ is FieldType.STRING else None,
        required=required,
        least=least,
        most=most,
    )
    options, field = _choices(field, schema, path, limits)
    about = f"{title}: {description}" if description else title
    asked = Question(
        text="\n\n".join(part for part in (message, description) if part) if message else about,
        header=title[: limits.header] if message else "",
        options=options,
        multi=type_ is FieldType.ARRAY,
        custom=not options,
        field=field,
    )
    return replace(asked, field=replace(field, default=_default(asked, field, schema, path)))


def _type(schema: Fields, path: str) -> FieldType:
    sent = schema.get("type")
    if sent is None and (schema.get("enum") or schema.get("oneOf") or schema.get("anyOf")):
        sent = "string"
    try:
        return FieldType(str(sent))
    except ValueError:
        names = ", ".join(FieldType)
        raise _invalid(f"{path}.type", f"one of {names}, got {str(sent)[:100]!r}") from None


def _format(schema: Fields, path: str) -> Format | None:
    sent = schema.get("format")
    if sent is None:
        return None
    try:
        return Format(str(sent))
    except ValueError:
        raise _invalid(f"{path}.format", f"one of {', '.join(Format)}, got {str(sent)[:100]!r}") from None


def _bounds(type_: FieldType, schema: Fields, path: str) -> tuple[int | float | None, int | float | None]:
    if type_ is FieldType.BOOLEAN:
        return None, None
    names = BOUNDS[type_]
    whole = type_ is not FieldType.NUMBER
    least, most = (_number(schema.get(name), f"{path}.{name}", whole=whole) for name in names)
    above = _number(schema.get("exclusiveMinimum"), f"{path}.exclusiveMinimum", whole=True)
    below = _number(schema.get("exclusiveMaximum"), f"{path}.exclusiveMaximum", whole=True)
    least = least if above is None else above + 1
    most = most if below is None else below - 1
    if least is not None and most is not None and least > most:
        raise _invalid(f"{path}.{names[0]}", f"at most {names[1]}, got {least} and {most}")
    return least, most


def _number(sent: object, path: str, *, whole: bool) -> int | float | None:
    if sent is None:
        return None
    if isinstance(sent, bool) or not isinstance(sent, int | float) or not _is_told(sent):
        raise _invalid(path, f"a number, got {kind_of(sent)}")
    if whole and sent != int(sent):
        raise _invalid(path, f"a whole number, got {sent}")
    return int(sent) if whole else sent


def _is_told(number: float) -> bool:
    """Whether every program can be told a number: one that is finite, and a whole one has at most 64 bits."""
    return abs(number) < 2**63 if isinstance(number, int) else math.isfinite(number)


def _choices(field: Field, schema: Fields, path: str, limits: Limits) -> tuple[tuple[Option, ...], Field]:
    if field.type is FieldType.BOOLEAN:
        return (Option(label=YES), Option(label=NO)), field
    if field.type is FieldType.ARRAY:
        path, schema = f"{path}.items", _mapping(schema.get("items"), f"{path}.items")
        _only(schema, _OF_CHOICES, f"{path}.")
    found = list(_offered(schema, path))
    if field.type is FieldType.ARRAY and not found:
        raise _invalid(path, "an enum of what can be chosen, got none")
    if len(found) > MOST_CHOICES:
        raise _invalid(path, f"at most {MOST_CHOICES} choices, got {len(found)}")
    numbers = field.type in (FieldType.INTEGER, FieldType.NUMBER)
    for value, label, _ in found:
        if isinstance(value, bool) or not isinstance(value, int | float if numbers else str):
            wanted = "numbers" if numbers else "texts"
            raise _invalid(path, f"{wanted}, got {kind_of(value)}")
        if not isinstance(value, str) and not _is_told(value):
            raise _invalid(path, f"numbers of JSON, got {label[:100]}")
        if not 1 <= len(label) <= limits.label:
            raise _invalid(path, f"titles of 1 to {limits.label} characters, got {len(label)}")
    labels = [label for _, label, _ in found]
    if len(set(labels)) < len(labels):
        raise _invalid(path, "two choices look the same")
    options = tuple(
        Option(label=label, description=described[: limits.description]) for _, label, described in found
    )
    return options, replace(field, values=tuple(cast("str | int | float", value) for value, _, _ in found))


def _offered(schema: Fields, path: str) -> Sequence[tuple[object, str, str]]:
    """What can be chosen: the value, its title, and what is said about it."""
    titled = schema.get("oneOf", schema.get("anyOf"))
    if titled is not None:
        each = [_mapping(one, f"{path}.oneOf") for one in _sequence(titled, f"{path}.oneOf")]
        if any("const" not in one for one in each):
            raise _invalid(f"{path}.oneOf", 'a "const" in each, with a "title" for people')
        return [
            (one["const"], str(one.get("title") or one["const"]).strip(), str(one.get("description") or ""))
            for one in each
        ]
    plain = [schema["const"]] if "const" in schema else schema.get("enum")
    if plain is None:
        return []
    values = _sequence(plain, f"{path}.enum")
    names = schema.get("enumNames")
    titles = _sequence(names, f"{path}.enumNames") if names is not None else values
    if len(titles) != len(values) or not values:
        raise _invalid(f"{path}.enum", "at least one value, and as many enumNames if there are any")
    return [(value, str(title).strip(), "") for value, title in zip(values, titles, strict=True)]


def _default(question: Question, field: Field, schema: Fields, path: str) -> tuple[str, ...]:
    """The default as the answer that it is; that it fits is found out where every answer is."""
    sent = schema.get("default")
    if sent is None:
        return ()
    given, problem = answer_to(field, question.labels, sent)
    if problem is None and given:
        given, problem = fit(field, given, chosen=bool(question.options))
    if problem is not None:
        raise _invalid(f"{path}.default", problem.sentence)
    return given


def _text(schema: Fields, name: str, path: str, most: int) -> str:
    sent = schema.get(name)
    if sent is None:
        return ""
    if not isinstance(sent, str):
        raise _invalid(f"{path}.{name}", f"text, got {kind_of(sent)}")
    said = " ".join(sent.split())
    if len(said) > most:
        raise _invalid(f"{path}.{name}", f"at most {most} characters, got {len(said)}")
    return forms.text(said, f"{path}.{name}")


def _only(schema: Fields, known: frozenset[str], path: str) -> None:
    """Make sure that nothing is demanded which no person would be held to."""
    for name in schema:
        if name not in known:
            raise _invalid(f"{path}{name[:100]}", f"not among what a form knows: {', '.join(sorted(known))}")


def _mapping(sent: object, path: str) -> Fields:
    if not isinstance(sent, dict):
        raise _invalid("" if path == "response_schema" else path, f"an object, got {kind_of(sent)}")
    return cast("Fields", sent)


def _sequence(sent: object, path: str) -> Sequence[object]:
    if not isinstance(sent, list):
        raise _invalid(path, f"a list, got {kind_of(sent)}")
    return cast("Sequence[object]", sent)


def _invalid(path: str, problem: str) -> InvalidInquiry:
    field = f"response_schema.{path}" if path else "response_schema"
    return InvalidInquiry(field, problem, hint=EXAMPLE)
