"""Reading JSON that a program wrote without knowing us: the right type, a repaired slip, or a clear error."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from upcall.domain.errors import InvalidInquiry

EXAMPLE = (
    'for example {"question": "Which cache?", "options": [{"label": "Redis", "description": "has pub/sub"}, '
    '{"label": "Memcached"}]}'
)

Fields = Mapping[str, object]


def parsed(sent: object) -> object:
    """JSON that arrived as a string, taken for what it says."""
    if isinstance(sent, str) and sent.lstrip()[:1] in ("{", "["):
        try:
            return cast("object", json.loads(sent))
        except (ValueError, RecursionError):
            return sent
    return sent


def mapping(sent: object, path: str) -> Fields:
    """An object."""
    # Asking for the likeness of a dictionary takes longer than for a dictionary, which it mostly is.
    if not isinstance(sent, dict | Mapping):
        raise InvalidInquiry(path, f"an object, got {kind_of(sent)}", hint=EXAMPLE)
    return cast("Fields", sent)


def sequence(sent: object, path: str) -> Sequence[object]:
    """A list."""
    if not isinstance(sent, list | tuple):
        raise InvalidInquiry(path, f"a list, got {kind_of(sent)}", hint=EXAMPLE)
    return cast("Sequence[object]", sent)


def text(sent: object, path: str) -> str:
    """Text; nothing is empty text and a number is what it looks like."""
    if sent is None:
        return ""
    if isinstance(sent, str) and sent.isascii():
        return sent
    if isinstance(sent, bool) or not isinstance(sent, str | int | float):
        raise InvalidInquiry(path, f"text, got {kind_of(sent)}", hint=EXAMPLE)
    # A lone surrogate cannot be stored or sent on; it is shown as what it is, unknown.
    return str(sent).encode("utf-8", "replace").decode()


def bounded(sent: object, path: str, limit: int) -> str:
    """Text without outer white space, up to a limit."""
    given = text(sent, path).strip()
    if len(given) > limit:
        raise InvalidInquiry(path, f"at most {limit} characters, got {len(given)}", hint=EXAMPLE)
    return given


def flag(sent: object, path: str, *, default: bool) -> bool:
    """A boolean."""
    match sent:
        case None:
            return default
        case bool():
            return sent
        case "true" | "True":
            return True
        case "false" | "False" | "":
            return False
        case _:
            raise InvalidInquiry(path, f"true or false, got {kind_of(sent)}", hint=EXAMPLE)


def first(fields: Fields, *names: str) -> object:
    """The first of several spellings that was used."""
    for name in names:
        sent = fields.get(name)
        if sent is not None:
            return sent
    return None


def kind_of(sent: object) -> str:
    """The name of the type of a JSON value."""
    match sent:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"
