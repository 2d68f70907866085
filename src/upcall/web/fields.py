"""Single values out of bodies and queries: of the right type and size, or an error that names the field."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.wording import duration
from upcall.domain.text.forms import kind_of

NAME_LENGTH = 200
VIA = re.compile(r"[a-z][a-z0-9_.-]{0,39}")

Fields = Mapping[str, object]
E = TypeVar("E", bound=StrEnum)


def text(fields: Fields, name: str, *, most: int = NAME_LENGTH) -> str | None:
    """Optional text; empty is absent."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidRequest(f"{name}: text, got {kind_of(value)}", hint=f'for example {{"{name}": "…"}}')
    if len(value) > most:
        raise InvalidRequest(f"{name}: at most {most} characters, got {len(value)}")
    return value


def required_text(fields: Fields, name: str, *, most: int = NAME_LENGTH, example: str) -> str:
    """Text that has to be there."""
    value = text(fields, name, most=most)
    if value is None:
        raise InvalidRequest(f"{name}: missing", hint=f"for example {example}")
    return value


def choice(values: type[E], sent: str, name: str, *, hint: str | None = None) -> E:
    """One of the values of an enumeration."""
    try:
        return values(sent)
    except ValueError:
        known = ", ".join(value.value for value in values)
        raise InvalidRequest(f"{name}: one of {known}, got {sent[:40]!r}", hint=hint) from None


def flag(fields: Fields, name: str) -> bool:
    """A boolean that is false when it is not there."""
    value = fields.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise InvalidRequest(
            f"{name}: true or false, got {kind_of(value)}", hint=f'for example {{"{name}": true}}'
        )
    return value


def seconds(value: object, name: str) -> float:
    """A duration of more than nothing, as seconds or as `90s`, `10m`, `24h`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidRequest(
            f"{name}: a duration, got {kind_of(value)}",
            hint='write seconds, or text like "90s", "10m", "24h"',
        )
    try:
        return duration(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{name}: {error.message}", hint=error.hint) from None


def bounded_seconds(sent: Mapping[str, str], name: str, *, default: float, most: float) -> float:
    """How long to wait; here nothing is possible too."""
    value = sent.get(name)
    if value is None:
        return default
    try:
        if float(value) == 0:
            return 0
    except ValueError:
        pass
    chosen = seconds(value, name)
    if chosen > most:
        raise InvalidRequest(f"{name}: at most {most:g} seconds, got {value!r}", hint="wait again after that")
    return chosen


def integer(sent: Mapping[str, str], name: str, *, default: int, least: int, most: int) -> int:
    """A whole number between two bounds."""
    value = sent.get(name)
    if value is None:
        return default
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else -1
    if not least <= number <= most:
        raise InvalidRequest(
            f"{name}: a whole number from {least} to {most}, got {value[:40]!r}",
            hint=f"for example ?{name}={default}",
        )
    return number


def strings(value: object, name: str, *, example: str) -> Sequence[str]:
    """A list of text."""
    if not isinstance(value, list):
        raise InvalidRequest(f"{name}: a list, got {kind_of(value)}", hint=f"for example {example}")
    items = cast("list[object]", value)
    for number, item in enumerate(items):
        if not isinstance(item, str):
            raise InvalidRequest(
                f"{name}[{number}]: text, got {kind_of(item)}", hint=f"for example {example}"
            )
    return cast("list[str]", items)


def via(fields: Fields) -> str:
    """Through what a person acts; only for show."""
    value = text(fields, "via")
    if value is None:
        return "api"
    if not VIA.fullmatch(value):
        raise InvalidRequest(
            f"via: up to 40 lower-case letters, digits and . _ -, got {value[:40]!r}",
            hint='for example {"via": "web"}',
        )
    return value


def moment(value: object, name: str) -> float:
    """A moment in ISO 8601 with its offset."""
    example = 'for example "2030-01-31T09:00:00Z"'
    if not isinstance(value, str):
        raise InvalidRequest(f"{name}: a moment, got {kind_of(value)}", hint=example)
    try:
        found = datetime.fromisoformat(value)
        at = found.timestamp()
    except (ValueError, OverflowError):
        raise InvalidRequest(f"{name}: not a moment: {value[:40]!r}", hint=example) from None
    if found.tzinfo is None:
        raise InvalidRequest(f"{name}: the offset is missing: {value[:40]!r}", hint=example)
    return at
