"""A form that a program wants filled in, as questions to a person; and their answers as what the form takes.

The forms are those of `elicitation/create`: a flat JSON schema of texts, numbers, switches and choices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

Json = Mapping[str, object]
Value = str | int | float | bool | list[str]

YES, NO, SKIP = "Yes", "No", "Skip"
NONE_OF_THEM = "None of the above"


class NotFilledIn(Exception):
    """An answer that the form does not take; the message says what it would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of several, and the value that it stands for."""

    label: str
    value: Value
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One property of a form. `other` is the property that takes an answer which is none of the choices, if one does."""

    name: str
    kind: str
    label: str
    description: str = ""
    choices: tuple[Choice, ...] = ()
    many: bool = False
    optional: bool = False
    other: str = ""

    def question(self, wording: str = "") -> dict[str, object]:
        """How a person is asked; a single field is asked in the words of the whole form.

        Some programs have the question as the title and a word for it as the description, others the other way round.
        """
        header, text = sorted((self.label, self.description or self.label), key=len)
        offered = [choice for choice in self.choices if not (self.other and choice.label == NONE_OF_THEM)]
        options = [{"label": choice.label, "description": choice.description} for choice in offered]
        if self.optional and not self.many:
            options.append({"label": SKIP, "description": ""})
        return {
            "header": header,
            "question": wording or text,
            "options": options,
            "multiSelect": self.many,
            "custom": not self.choices or bool(self.other),
        }

    def content(self, answers: Sequence[str]) -> dict[str, Value]:
        """What a person chose or wrote, by the properties that take it; nothing if it was left out.

        Raises:
            NotFilledIn: if the form does not take that.
        """
        known = {choice.label: choice.value for choice in self.choices}
        own = ", ".join(answer for answer in answers if answer not in {*known, SKIP} and answer)
        if self.other and own:
            # What is written beside several choices is added to them; in place of a single one, it takes its place.
            chosen = self._chosen(answers) if self.many else known.get(NONE_OF_THEM)
            return {self.other: own} | ({} if chosen is None else {self.name: chosen})
        value = self._chosen(answers) if self.many else self._value(answers[0] if answers else "")
        return {} if value is None or not self.name else {self.name: value}

    def _chosen(self, answers: Sequence[str]) -> list[str]:
        return [str(choice.value) for choice in self.choices if choice.label in answers]

    def _value(self, answer: str) -> Value | None:
        known = {choice.label: choice.value for choice in self.choices}
        if self.optional and answer == SKIP:
            return None
        if known:
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
    fields = [
        _field(str(name), cast("Json", each), optional=name not in needed)
        for name, each in properties.items()
        if isinstance(each, dict)
    ]
    return list(_joined(fields))


def _joined(fields: Sequence[Field]) -> Iterator[Field]:
    """Fields without those that are only for an answer in one's own words to the one before them.

    Never where an option would have to be chosen as well, since the person has named none.
    """
    before: Field | None = None
    for field in fields:
        if before is not None and _is_for_others(field, before):
            before = replace(before, other=field.name)
            continue
        if before is not None:
            yield before
        before = field
    if before is not None:
        yield before


def _is_for_others(field: Field, before: Field) -> bool:
    can_be_left = before.optional or NONE_OF_THEM in {choice.label for choice in before.choices}
    is_text = field.kind == "string" and not field.choices and field.optional
    return bool(before.choices and can_be_left and is_text and field.name.startswith(f"{before.name}_"))


def _field(name: str, schema: Json, *, optional: bool) -> Field:
    kind = str(schema.get("type", "string"))
    many = kind == "array"
    items = schema.get("items")
    choices = _choices(cast("Json", items) if many and isinstance(items, dict) else schema)
    if kind == "boolean":
        choices = (Choice(label=YES, value=True), Choice(label=NO, value=False))
    return Field(
        name=name,
        kind=kind,
        label=str(schema.get("title") or name),
        description=str(schema.get("description") or ""),
        choices=choices,
        many=many,
        optional=optional,
    )


def _choices(schema: Json) -> tuple[Choice, ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        named = [
            Choice(
                label=str(each.get("title") or each["const"]),
                value=str(each["const"]),
                description=str(each.get("description") or ""),
            )
            for each in titled
            if isinstance(each, dict) and "const" in each
        ]
        # Two choices that look the same are told apart by what they stand for.
        alike = len({choice.label for choice in named}) < len(named)
        return tuple(replace(choice, label=str(choice.value)) if alike else choice for choice in named)
    plain = schema.get("enum")
    return (
        tuple(Choice(label=str(each), value=str(each)) for each in plain) if isinstance(plain, list) else ()
    )
