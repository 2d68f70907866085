"""A form that a program wants filled in, as questions to a person; and their answers as what the form takes.

The forms are those of `elicitation/create`: a flat JSON schema whose properties are texts, numbers, switches and choices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

Json = Mapping[str, object]
Value = str | int | float | bool | list[str]

YES, NO, SKIP = "Yes", "No", "Skip"


class NotFilledIn(Exception):
    """An answer that the form does not take; the message says what it would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One property of a form. `choices` are labels and the values they stand for."""

    name: str
    kind: str
    label: str
    description: str = ""
    choices: tuple[tuple[str, Value], ...] = ()
    many: bool = False
    optional: bool = False

    def question(self, wording: str = "") -> dict[str, object]:
        """How a person is asked; a single field is asked in the words of the whole form."""
        labels = [label for label, _ in self.choices]
        if self.optional and not self.many:
            labels.append(SKIP)
        return {
            "header": self.label,
            "question": wording or self.description or self.label,
            "options": [{"label": label} for label in labels],
            "multiSelect": self.many,
            "custom": not self.choices,
        }

    def value(self, answers: Sequence[str]) -> Value | None:
        """What a person chose or wrote; None if it was left out.

        Raises:
            NotFilledIn: if the form does not take that.
        """
        known = dict(self.choices)
        if self.many:
            return [str(known[answer]) for answer in answers if answer in known]
        answer = answers[0] if answers else ""
        if self.optional and answer == SKIP:
            return None
        if self.choices:
            if answer not in known:
                raise NotFilledIn(f"{self.label}: one of {', '.join(known)}")
            return known[answer]
        return self._written(answer)

    def _written(self, answer: str) -> Value:
        try:
            match self.kind:
                case "integer":
                    return int(answer)
                case "number":
                    return float(answer)
                case _:
                    return answer
        except ValueError:
            raise NotFilledIn(f"{self.label}: a number, got {answer!r}") from None


def fields_of(schema: Json) -> list[Field]:
    """The fields of a form, in its own order."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return []
    return [
        _field(str(name), cast("Json", each), optional=name not in needed)
        for name, each in properties.items()
        if isinstance(each, dict)
    ]


def _field(name: str, schema: Json, *, optional: bool) -> Field:
    kind = str(schema.get("type", "string"))
    many = kind == "array"
    items = schema.get("items")
    choices = _choices(cast("Json", items) if many and isinstance(items, dict) else schema)
    if kind == "boolean":
        choices = ((YES, True), (NO, False))
    return Field(
        name=name,
        kind=kind,
        label=str(schema.get("title") or name),
        description=str(schema.get("description") or ""),
        choices=choices,
        many=many,
        optional=optional,
    )


def _choices(schema: Json) -> tuple[tuple[str, Value], ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        named = [
            (str(each.get("title") or each["const"]), str(each["const"]))
            for each in titled
            if isinstance(each, dict) and "const" in each
        ]
        # Two choices that look the same are told apart by what they stand for.
        alike = len({label for label, _ in named}) < len(named)
        return tuple((value if alike else label, value) for label, value in named)
    plain = schema.get("enum")
    return tuple((str(each), str(each)) for each in plain) if isinstance(plain, list) else ()
