"""JSON from outside, read in one place: what is returned can be stored, sent on and written again by our encoder.

Half characters, numbers that no encoder can write, and nesting that no reader follows are refused here, at every door.
"""

import json
from collections.abc import Iterable, Mapping
from typing import cast

import orjson

from upcall.domain.errors import InvalidRequest
from upcall.domain.inquiry.limits import has_too_many_values

DEEPEST = 100
"""Levels that objects and lists may be nested. What holds a document of a caller adds a few of its own."""

ENCODER_DEEPEST = 254
"""Levels that the encoder writes."""


class _Constant(Exception):
    """A word for a number that JSON has not."""


class NotJson(InvalidRequest):
    """It is no JSON at all."""


def read_json(raw: bytes | str, what: str = "the body") -> object:
    """What JSON says; an integer of more than 64 bits is read as a float, as most programs do.

    Raises:
        NotJson: if it is none.
        InvalidRequest: if it could not be written again.
    """
    if has_too_many_values(raw):
        raise InvalidRequest(f"{what} holds too many values", hint="send less at once")
    try:
        found = cast("object", orjson.loads(raw))
    except ValueError as error:
        raise _refusal(raw, what, error) from None
    if is_too_deep(raw, found):
        raise _too_deep(what)
    return found


def is_too_deep(raw: bytes | str, found: object) -> bool:
    """Whether what was read from `raw` is nested more deeply than is taken."""
    opening = raw.count("[") + raw.count("{") if isinstance(raw, str) else raw.count(b"[") + raw.count(b"{")
    if opening <= DEEPEST:
        return False
    # The encoder's own limit tells, and much faster than following each branch here.
    for _ in range(ENCODER_DEEPEST - DEEPEST):
        found = [found]
    try:
        orjson.dumps(found)
    except TypeError:
        return True
    return False


def writable(value: object, depth: int = 0) -> object:
    """A document that the encoder can write, as close to the given one as can be."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case bool() | float() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case _ if depth == DEEPEST:
            return "…"
        case list() | tuple():
            return [writable(item, depth + 1) for item in cast("Iterable[object]", value)]
        case dict():
            items = cast("Mapping[object, object]", value).items()
            return {str(writable(str(name))): writable(item, depth + 1) for name, item in items}
        case _:
            return str(value)


def _refusal(raw: bytes | str, what: str, error: ValueError) -> InvalidRequest:
    """Why something was refused. The standard library is asked as well, since it names the place in a known form."""
    try:
        text = raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError:
        return NotJson(f"{what} is not UTF-8", hint="send JSON in UTF-8")
    if "depth" in str(error):
        return _too_deep(what)
    if "surrogate" in str(error):
        return InvalidRequest(
            f"{what} has half of a character: an escape such as \\ud83d without its other half",
            hint="cut texts between characters, not between UTF-16 units",
        )
    if "infinity" in str(error):
        return InvalidRequest(f"{what} has a number that is too large", hint="send it as text")
    reason = str(error)
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except _Constant as found:
        return InvalidRequest(f"{what} is not JSON: {found}", hint="send null, or a number")
    except ValueError as found:
        reason = str(found)
    except RecursionError:
        return _too_deep(what)
    return NotJson(f"{what} is not JSON: {reason}", hint='send an object like {"text": "yes"}')


def _too_deep(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} is nested too deeply: more than {DEEPEST} levels", hint="send a flatter object"
    )


def _refuse_constant(name: str) -> object:
    raise _Constant(f"{name} is not JSON")
