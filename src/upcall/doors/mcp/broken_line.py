"""The id of a request on a line that cannot be parsed, so that its sender gets an error for it.

Imported by the pipe, so it is kept to the standard library.
"""

import json
import re
from itertools import islice

LONGEST_SEARCHED = 256 * 1024
"""Bytes of a line that are searched for its id; agents send more only with attachments."""

MOST_PARTS = 100_000
"""Texts and brackets that are searched, which bounds the time in the event loop."""

_PART = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_ID = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]{1,19}(?![0-9.eE]))')


def id_in(line: bytes) -> str | int | None:
    """The id of the request on a line that is too deep or too odd to be read; None if none is found."""
    depth = 0
    for part in islice(_PART.finditer(line[:LONGEST_SEARCHED]), MOST_PARTS):
        match part[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1:
                found = _ID.match(line, part.end())
                if found is not None:
                    return _value(found[1])
            case _:
                pass
    return None


def _value(text: bytes) -> str | int | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str | int) else None
