"""What Claude Code writes with `--output-format stream-json`, line by line.

Only `type` tells what a line is; everything else may be missing or of another form in a later version.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from upcall.domain.run.api_errors import api_error
from upcall.domain.run.program import (
    SESSION_GONE,
    ActionRefused,
    Deferred,
    Finished,
    Noticed,
    Said,
    SessionSeen,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
    Unreadable,
)

DEFERRED = "tool_deferred"
NO_SESSION = "No conversation found with session ID: "
"""The only word of a result that tells a session which is gone from other failures; the session's id follows."""

SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code writes itself, such as the errors of the API."""

BILLING = "billing_error"
"""The word for a request that is refused as wrong, and taken once the account is paid."""

LONGEST_SHOWN = 500
MESSAGES_REMEMBERED = 64
MOST = 1e12
"""No process uses as much of anything: such a number is no count, and neither is what is not a number at all."""

INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
MODEL_INPUT = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")

Fields = Mapping[str, object]


class ClaudeReader:
    """Reads one process.

    One reply of the model comes as several lines under one id, each with the usage so far; the result has the sums.
    What was counted on the way is not counted again, and is not lost if there is no result.
    """

    def __init__(self) -> None:
        self._session = ""
        self._usage: dict[str, tuple[int, int]] = {}
        self._taken = 0
        self._given = 0
        self._error = ""

    def notice(self, line: str) -> Iterator[Noticed]:
        """What a line tells."""
        if not line.strip():
            return
        event = _event(line)
        if event is None:
            yield Unreadable(line=line[:LONGEST_SHOWN])
            return
        session = _text(event.get("session_id"))
        if session and session != self._session:
            self._session = session
            yield SessionSeen(id=session)
        match event.get("type"):
            case "assistant" if _is_synthetic(event):
                self._error = _text(event.get("error"))
                yield from _said(_fields(event.get("message")))
            case "assistant":
                yield from self._spoke(_fields(event.get("message")))
            case "user":
                yield from _returned(_fields(event.get("message")))
            case "result":
                yield from self._ended(event)
            case _:
                return

    def _spoke(self, message: Fields) -> Iterator[Noticed]:
        name = _text(message.get("id"))
        if name not in self._usage:
            yield TurnTaken()
        self._error = ""
        yield from self._used(name, _fields(message.get("usage")))
        yield from _said(message)

    def _used(self, name: str, usage: Fields) -> Iterator[Noticed]:
        before = self._usage.pop(name, (0, 0))
        now = max(before[0], _taken(usage)), max(before[1], _count(usage.get("output_tokens")))
        # The latest is kept last; subagents may take turns with their caller, but not with many others.
        self._usage[name] = now
        if len(self._usage) > MESSAGES_REMEMBERED:
            del self._usage[next(iter(self._usage))]
        yield from self._spent(now[0] - before[0], now[1] - before[1])

    def _spent(self, taken: int, given: int, cost: float = 0.0) -> Iterator[Noticed]:
        self._taken += taken
        self._given += given
        if taken or given or cost:
            yield Spent(cost=cost or None, input_tokens=taken or None, output_tokens=given or None)

    def _ended(self, event: Fields) -> Iterator[Noticed]:
        taken, given, cost = _sums(event)
        yield from self._spent(max(0, taken - self._taken), max(0, given - self._given), cost)
        # Work in the background can make a process go on after a result, and have another one.
        self._taken = self._given = 0
        for denial in _blocks(event.get("permission_denials")):
            yield ActionRefused(tool=_text(denial.get("tool_name")))
        call = _fields(event.get("deferred_tool_use"))
        if event.get("stop_reason") == DEFERRED and call:
            # Not finished: the work goes on once a person has decided.
            yield Deferred(
                id=_text(call.get("id")), name=_text(call.get("name")), input=_fields(call.get("input"))
            )
            return
        subtype = _text(event.get("subtype"))
        text = _text(event.get("result")) or "\n".join(map(_text, _list(event.get("errors"))))
        ok = subtype == "success" and event.get("is_error") is not True
        yield Finished(ok=ok, text=text, reason="" if ok else _reason(event, subtype, self._error))


def _is_synthetic(event: Fields) -> bool:
    """Whether the program speaks in the model's place, which has not been reached."""
    is_error = event.get("is_api_error_message") is True
    return is_error or _fields(event.get("message")).get("model") == SYNTHETIC


def _said(message: Fields) -> Iterator[Noticed]:
    for block in _blocks(message.get("content")):
        match block.get("type"):
            case "text" if text := _text(block.get("text")):
                yield Said(text=text)
            case "tool_use":
                yield ToolCalled(
                    id=_text(block.get("id")),
                    name=_text(block.get("name")),
                    input=_fields(block.get("input")),
                )
            case _:
                continue


def _reason(event: Fields, subtype: str, error: str) -> str:
    """A short code: what kind of error, that the model's service refused, or that there is no such session."""
    if f"{NO_SESSION}{_text(event.get('session_id'))}" in _list(event.get("errors")):
        return SESSION_GONE
    if subtype == "success":
        return api_error(None if error == BILLING else event.get("api_error_status"), error)
    return subtype or "error"


def _returned(message: Fields) -> Iterator[Noticed]:
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_result":
            yield ToolReturned(
                id=_text(block.get("tool_use_id")),
                text=_words(block.get("content")),
                is_error=block.get("is_error") is True,
            )


def _sums(event: Fields) -> tuple[int, int, float]:
    """What was used since the last result.

    `total_cost_usd` and `modelUsage` are of the whole session, with what its earlier processes used; only where a
    version tells nothing better is the former taken.
    """
    usage = _fields(event.get("usage"))
    since = event.get("model_usage_since_last_result")
    models = [_fields(entry) for entry in _fields(since).values()]
    if isinstance(since, dict):
        cost = sum(_amount(model.get("costUSD")) for model in models)
    else:
        cost = _amount(event.get("total_cost_usd"))
    return (
        max(_taken(usage), sum(_count(model.get(name)) for model in models for name in MODEL_INPUT)),
        max(_count(usage.get("output_tokens")), sum(_count(model.get("outputTokens")) for model in models)),
        cost,
    )


def _event(line: str) -> Fields | None:
    try:
        event = cast("object", json.loads(line))
        if "\\u" in line:
            # Half of a surrogate pair can only come as an escape; it can be neither stored nor sent on.
            event = json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("Fields", event) if isinstance(event, dict) else None


def _fields(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _blocks(value: object) -> Iterator[Fields]:
    return (_fields(block) for block in _list(value) if isinstance(block, dict))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(content: object) -> str:
    """The text of a tool's result: text itself, or blocks with text in them."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in _blocks(content) if (text := _text(block.get("text"))))


def _taken(usage: Fields) -> int:
    return sum(_count(usage.get(name)) for name in INPUT_TOKENS)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MOST else 0


def _amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < MOST else 0.0
