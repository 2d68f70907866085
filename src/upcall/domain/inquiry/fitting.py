"""Holds what was given for a field of a form against its type: as it is kept, or the rule that it breaks."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from urllib.parse import urlsplit

from upcall.domain.inquiry.field import NO, YES, Field, FieldType, Format
from upcall.domain.inquiry.unfit import FieldProblem
from upcall.domain.text.display import one_line
from upcall.domain.text.forms import kind_of

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:[.,][0-9]{0,30})?|[.,][0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Values = tuple[str, ...]
Checked = tuple[Values, FieldProblem | None]
"""An answer to a field as it is kept, and what does not fit about it."""

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)
_WANTED: Mapping[FieldType, str] = {
    FieldType.STRING: "text",
    FieldType.NUMBER: "number",
    FieldType.INTEGER: "integer",
    FieldType.BOOLEAN: "choice",
    FieldType.ARRAY: "choice",
}


def answer_to(field: Field, labels: Sequence[str], sent: object) -> Checked:
    """A JSON value as the answer to a field, not yet held against its bounds."""
    if sent is None:
        return (), None
    each: Sequence[object] = sent if field.type is FieldType.ARRAY and isinstance(sent, list) else [sent]
    found: list[str] = []
    for value in each:
        if field.type is FieldType.BOOLEAN and isinstance(value, bool):
            found.append(YES if value else NO)
        elif field.values:
            if isinstance(value, bool) or value not in field.values:
                return (), problem_with(field, "choice", value)
            found.append(labels[field.values.index(value)])
        elif isinstance(value, str) and field.type is FieldType.STRING:
            found.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and field.type in _NUMBERS:
            found.append(repr(int(value) if isinstance(value, float) and value.is_integer() else value))
        else:
            return (), problem_with(field, _WANTED[field.type], value)
    return tuple(found), None


def fit(field: Field, values: Values, *, chosen: bool) -> Checked:
    """An answer to a field as it is kept, and what does not fit about it; what was chosen is made of labels."""
    if chosen:
        return values, _countproblem_with(field, len(values))
    written, *more = values
    if more:
        return (), problem_with(field, _WANTED[field.type], ", ".join(values))
    return _counted(field, written.strip()) if field.type in _NUMBERS else _written(field, written)


def _countproblem_with(field: Field, count: int) -> FieldProblem | None:
    if field.type is not FieldType.ARRAY:
        return problem_with(field, "choice", count) if count > 1 else None
    if field.least is not None and count < field.least:
        return problem_with(field, "few", count)
    if field.most is not None and count > field.most:
        return problem_with(field, "many", count)
    return None


def _counted(field: Field, text: str) -> Checked:
    whole = field.type is FieldType.INTEGER
    if not (_INTEGER if whole else _NUMBER).fullmatch(text):
        return (), problem_with(field, "integer" if whole else "number", text)
    number = int(text) if whole else float(text.replace(",", "."))
    if not math.isfinite(number):
        return (), problem_with(field, "number", text)
    if field.least is not None and number < field.least:
        return (), problem_with(field, "least", number)
    if field.most is not None and number > field.most:
        return (), problem_with(field, "most", number)
    return (repr(number).removesuffix(".0"),), None


def _written(field: Field, text: str) -> Checked:
    said = text if field.format is None else text.strip()
    if field.format is not None and not _has_format(said, field.format):
        return (), problem_with(field, field.format.value, said)
    if field.least is not None and len(said) < field.least:
        return (), problem_with(field, "short", len(said))
    if field.most is not None and len(said) > field.most:
        return (), problem_with(field, "long", len(said))
    return (said,), None


def _has_format(text: str, wanted: Format) -> bool:
    try:
        match wanted:
            case Format.EMAIL:
                return _EMAIL.fullmatch(text) is not None
            case Format.URI:
                found = urlsplit(text)
                return bool(found.scheme and (found.netloc or found.path)) and not re.search(r"\s", text)
            case Format.DATE:
                return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
            case Format.DATE_TIME:
                return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def problem_with(field: Field, rule: str, given: object = "") -> FieldProblem:
    """That a rule of a field is broken, by what was given."""
    shown = repr(one_line(given, 60)) if isinstance(given, str) else _number_or_kind(given)
    gaps: dict[str, object] = {"given": shown, "least": field.least, "most": field.most}
    return FieldProblem(name=field.name, title=field.title, rule=rule, gaps=gaps)


def _number_or_kind(given: object) -> str:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return str(given) if number else kind_of(given)
