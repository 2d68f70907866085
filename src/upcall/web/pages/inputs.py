"""The native input of a field of a form: its type and its attributes, so that a browser helps before anything is sent."""

from dataclasses import dataclass

from upcall.domain.inquiry.field import Field, FieldType, Format

LONG_TEXT = 200
"""Characters from which on a text has several lines."""

_TYPES = {
    Format.EMAIL: "email",
    Format.URI: "url",
    Format.DATE: "date",
    Format.DATE_TIME: "datetime-local",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input and what it demands. One without a type is for several lines."""

    type: str
    attributes: tuple[tuple[str, str], ...]


def input_of(field: Field) -> Input:
    """How a field that has no choices is filled in."""
    numeric = field.type in (FieldType.NUMBER, FieldType.INTEGER)
    names = ("min", "max") if numeric else ("minlength", "maxlength")
    bounds = [(name, value) for name, value in zip(names, (field.least, field.most), strict=True)]
    attributes = [(name, str(value)) for name, value in bounds if value is not None]
    if numeric:
        attributes.append(("step", "1" if field.type is FieldType.INTEGER else "any"))
        return Input(type="number", attributes=tuple(attributes))
    if field.format is not None:
        return Input(type=_TYPES[field.format], attributes=tuple(attributes))
    short = field.most is not None and field.most <= LONG_TEXT
    return Input(type="text" if short else "", attributes=tuple(attributes))
