"""What opencode's messages are made of, the same in its stream and from its server: steps, words and calls of tools."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from upcall.domain.run.api_errors import api_error
from upcall.domain.run.program import ActionRefused, Noticed, Said, Spent, ToolCalled, ToolReturned, TurnTaken

Json = Mapping[str, object]

API_ERROR = "APIError"
"""What opencode calls a refusal of the model's service."""

_REFUSED = ("The user has specified a rule which prevents", "The user rejected permission")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Parts:
    """Remembers what has been noticed, since a part is told again whenever something about it changes."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def skip(self, part: Json) -> None:
        """Take a part for known without noticing it."""
        for _ in self.notice(part):
            pass

    def notice(self, part: Json) -> Iterator[Noticed]:
        """What a part tells that it has not told before."""
        name = text(part.get("id"))
        match part.get("type"):
            case "step-start" if self._first(name, "start"):
                yield TurnTaken()
            case "step-finish" if self._first(name, "finish"):
                yield from _spent(part)
            case "text" if words(part) and self._first(name, "text"):
                yield Said(text=words(part))
            case "tool":
                yield from self._tool(part)
            case _:
                return

    def _tool(self, part: Json) -> Iterator[Noticed]:
        call, tool, state = text(part.get("callID")), text(part.get("tool")), mapping(part.get("state"))
        status = state.get("status")
        if not call or status not in ("running", "completed", "error"):
            return
        if self._first(call, "called"):
            yield ToolCalled(id=call, name=tool, input=mapping(state.get("input")))
        if status != "running" and self._first(call, "returned"):
            told = text(state.get("output")) or text(state.get("error"))
            if status == "error" and told.startswith(_REFUSED):
                yield ActionRefused(tool=tool, reason=told)
            yield ToolReturned(id=call, text=told, is_error=status == "error")

    def _first(self, name: str, what: str) -> bool:
        known = (name, what) in self._seen
        self._seen.add((name, what))
        return not known


def words(part: Json) -> str:
    """What the model says in a part, once it has said it all; the user's parts have no such end."""
    done = part.get("type") == "text" and mapping(part.get("time")).get("end") is not None
    return text(part.get("text")).strip() if done else ""


def failure(error: object) -> tuple[str, str]:
    """What went wrong, in words and as a short code."""
    known = mapping(error)
    name = text(known.get("name"))
    data = mapping(known.get("data"))
    message = text(data.get("message")) or text(known.get("message")) or name
    if name == API_ERROR:
        return message or name, api_error(data.get("statusCode"))
    return message or "opencode does not say what went wrong", _code(name) or "unknown_error"


def loaded(line: str) -> Json | None:
    """The object in a line; None if there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Json", found) if isinstance(found, dict) else None


def mapping(value: object) -> Json:
    """An object, or an empty one in place of anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def text(value: object) -> str:
    """A text, or none in place of anything else."""
    return value if isinstance(value, str) else ""


def _spent(part: Json) -> Iterator[Noticed]:
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    taken = sum(_count(each) for each in (tokens.get("input"), cache.get("read"), cache.get("write")))
    given = sum(_count(each) for each in (tokens.get("output"), tokens.get("reasoning")))
    cost = _amount(part.get("cost"))
    if cost or taken or given:
        yield Spent(cost=cost, input_tokens=taken, output_tokens=given)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def _code(name: str) -> str:
    return _WORDS.sub("_", name).replace(" ", "_").casefold()
