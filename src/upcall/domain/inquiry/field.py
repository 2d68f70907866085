"""The type of an answer: what a question of a form takes, as a JSON Schema has said it."""

from dataclasses import dataclass
from enum import StrEnum

YES, NO = "Yes", "No"
"""The labels of the two options of a boolean."""

Value = str | int | float | bool
Content = dict[str, Value | list[Value]]


class FieldType(StrEnum):
    """The types of JSON Schema that a form has."""

    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    ARRAY = "array"


class Format(StrEnum):
    """What a text has to look like."""

    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATE_TIME = "date-time"


BOUNDS = {
    FieldType.STRING: ("minLength", "maxLength"),
    FieldType.NUMBER: ("minimum", "maximum"),
    FieldType.INTEGER: ("minimum", "maximum"),
    FieldType.ARRAY: ("minItems", "maxItems"),
}
"""What JSON Schema calls the bounds of each type that has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A property of a form. `title` is its name for people.

    `least` and `most` bound a number, the characters of a text, or how many options are chosen. `values` are what the
    options of its question stand for, in their order. `default` is the answer where a person leaves it out.
    """

    name: str
    title: str
    type: FieldType
    format: Format | None = None
    required: bool = False
    least: int | float | None = None
    most: int | float | None = None
    values: tuple[str | int | float, ...] = ()
    default: tuple[str, ...] = ()

    def value(self, label: str, labels: tuple[str, ...]) -> Value:
        """What an answer stands for: one of the labels, or a text that fits."""
        if self.type is FieldType.BOOLEAN:
            return label == YES
        if self.values:
            return self.values[labels.index(label)]
        match self.type:
            case FieldType.INTEGER:
                return int(label)
            case FieldType.NUMBER:
                return float(label)
            case _:
                return label

    def schema(self) -> dict[str, object]:
        """The property as JSON Schema."""
        made: dict[str, object] = {"type": self.type.value, "title": self.title}
        if self.format is not None:
            made["format"] = self.format.value
        least, most = BOUNDS.get(self.type, ("", ""))
        made |= {} if self.least is None else {least: self.least}
        made |= {} if self.most is None else {most: self.most}
        if self.type is FieldType.ARRAY:
            made["items"] = {"enum": list(self.values)}
        elif self.values:
            made["enum"] = list(self.values)
        return made
