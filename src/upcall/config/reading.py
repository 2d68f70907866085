"""Reads tables of settings into dataclasses. It collects all problems, each with its key.

A field's metadata says what its type cannot: `SECONDS` is a duration, `EXACT` a list that keeps its items as they are,
`SECRET` a text that may refer to where it stands (`references.py`), and `NEEDED` what may not be empty.
"""

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.wording import duration
from upcall.domain.text.redaction import redact

T = TypeVar("T")
Table = Mapping[str, object]
Variables = Mapping[str, str]
SecretOf = Callable[[str], str]
"""Finds what a setting refers to; a ValueError says why it cannot."""

SECONDS = {"unit": "seconds"}
SECONDS_OR_OFF = {"unit": "seconds", "off": True}
"""A duration, or 0."""

EXACT = {"list": "exact"}
SECRET = {"secret": True}
NEEDED = {"needed": True}
HIDDEN = "(hidden)"
"""Printed in the place of a secret."""


def fill(
    kind: type[T],
    table: Table,
    environment: Variables,
    prefix: str,
    problems: list[str],
    read: Mapping[str, object] | None = None,
) -> T:
    """A dataclass from a table; every field is also a variable of `environment`. `read` are fields that were read."""
    chosen: dict[str, object] = dict(read or {})
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(cast("Any", kind))}
    for name in table:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            problems.append(f"{prefix}{name}: unknown setting; {meant}")
    for name, each in known.items():
        if name in chosen:
            continue
        if is_dataclass(hints[name]):
            inner = as_table(table.get(name, {}), f"{prefix}{name}", problems)
            within = cast("type[Any]", hints[name])
            chosen[name] = fill(within, inner, environment, f"{prefix}{name}.", problems)
            continue
        variable = variable_of(prefix + name)
        given = environment.get(variable, table.get(name))
        if given is not None:
            try:
                chosen[name] = _value(given, hints[name], each)
            except (ValueError, InvalidRequest) as problem:
                problems.append(f"{variable if variable in environment else prefix + name}: {problem}")
    return kind(**chosen)


def fill_named(kind: type[T], table: Table, secret: SecretOf, prefix: str, problems: list[str]) -> T:
    """A dataclass from a table that its owner has named: no variables but those that it names itself as `$NAME`."""
    given = dict(table)
    for each in fields(cast("Any", kind)):
        said = given.get(each.name)
        if "secret" in each.metadata and isinstance(said, str):
            try:
                given[each.name] = secret(said)
            except ValueError as problem:
                given[each.name] = ""
                problems.append(f"{prefix}{each.name}: {problem}")
                continue
        if "needed" in each.metadata and not given.get(each.name):
            or_variable = ", or $NAME of a variable that holds it" if "secret" in each.metadata else ""
            problems.append(f"{prefix}{each.name}: is needed{or_variable}")
    return fill(kind, given, {}, prefix, problems)


def presentable(settings: object) -> object:
    """Settings as they can be printed and pasted somewhere: without secrets, and without passwords in addresses."""
    if is_dataclass(settings) and not isinstance(settings, type):
        return {
            each.name: HIDDEN
            if "secret" in each.metadata and getattr(settings, each.name)
            else presentable(getattr(settings, each.name))
            for each in fields(settings)
        }
    if isinstance(settings, Mapping):
        named = cast("Mapping[object, object]", settings)
        return {str(name): presentable(value) for name, value in named.items()}
    if isinstance(settings, list | tuple):
        return [presentable(value) for value in cast("Sequence[object]", settings)]
    return redact(settings).text if isinstance(settings, str) else settings


def as_table(given: object, key: str, problems: list[str]) -> Table:
    """A value that has to be a table; an empty one with a problem otherwise."""
    if isinstance(given, Mapping):
        return cast("Table", given)
    problems.append(f"{key}: a table [{key}], got {given!r}")
    return {}


def variable_of(key: str) -> str:
    """The variable of a setting."""
    return "UPCALL_" + key.replace(".", "_").upper()


def _value(given: object, hint: object, each: Field[object]) -> object:
    if "list" in each.metadata:
        return _exactly(given)
    if "off" in each.metadata and str(given) in {"0", "0.0", "0s"}:
        return 0.0
    return _converted(given, hint, seconds="unit" in each.metadata)


def _exactly(given: object) -> tuple[str, ...]:
    """Words of a command line, each as it is."""
    if not isinstance(given, list) or not given or not all(isinstance(item, str) for item in given):
        raise ValueError(f'a list such as ["one", "two"], got {given!r}')
    return tuple(given)


def _converted(given: object, hint: object, *, seconds: bool) -> object:
    if seconds:
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            raise ValueError(f'a duration such as "10m" or 90, got {given!r}')
        return duration(given)
    if get_origin(hint) is Literal:
        if given not in get_args(hint):
            # Where nothing may be said, that is its default.
            raise ValueError(f"one of {', '.join(filter(None, get_args(hint)))}; got {given!r}")
        return given
    if get_origin(hint) is tuple:
        return _listed(given)
    if hint is bool:
        return _switched(given)
    if hint is str:
        if not isinstance(given, str):
            raise ValueError(f"text, got {given!r}")
        return given
    try:
        number = int(str(given)) if hint is int else float(str(given))
    except ValueError:
        raise ValueError(f"a number, got {given!r}") from None
    if number < 0:
        raise ValueError(f"not negative, got {given!r}")
    return number


def _switched(given: object) -> bool:
    """A yes or no: a boolean in the file, a word in a variable."""
    said = str(given).casefold()
    if said not in {"true", "false"}:
        raise ValueError(f"true or false, got {given!r}")
    return said == "true"


def _listed(given: object) -> tuple[str, ...]:
    """Several texts: a list in the file, in a variable separated as in PATH or by commas."""
    items = given.replace(os.pathsep, ",").split(",") if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError(f'a list such as ["one", "two"], got {given!r}')
    return tuple(stripped for item in items if (stripped := str(item).strip()))
