"""What an agent that speaks the Agent Client Protocol is seen to do, read from its messages alone.

Knows nothing of the protocol's library: a message of a later version of an agent must not end the reading.
"""

import json
from collections.abc import Iterator, Mapping
from typing import cast

from upcall.domain.run import program
from upcall.domain.run.api_errors import api_error
from upcall.domain.run.steps import planned

Message = Mapping[str, object]

AUTH_REQUIRED = -32000


def message_in(line: str) -> Message | None:
    """The JSON object that a line is; None for anything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Message", message) if isinstance(message, dict) else None


class AcpReader:
    """Reads one process's messages. The cost of a resumed session includes what it had cost before."""

    def __init__(self, *, resumed: bool = False) -> None:
        self._cost: float | None = None if resumed else 0.0
        self._session = ""
        self._speaking = False
        self._words: list[str] = []
        self._last_words = ""
        self._calls: dict[str, dict[str, object]] = {}
        self._told: set[str] = set()
        self._over: set[str] = set()

    def notice(self, line: str) -> list[program.Noticed]:
        """What a line tells."""
        if not line.strip():
            return []
        message = message_in(line)
        return [program.Unreadable(line=line)] if message is None else self.read(message)

    def read(self, message: Message) -> list[program.Noticed]:
        """What a message tells."""
        if message.get("method") == "session/update":
            params = _object(message.get("params"))
            return [*self._seen(params.get("sessionId")), *self._update(_object(params.get("update")))]
        if message.get("method") == "session/request_permission":
            params = _object(message.get("params"))
            return list(self._tool(_object(params.get("toolCall")), is_called=True))
        if "method" in message:
            return []
        if isinstance(message.get("error"), dict):
            return [*self._pause(), *_failure(_object(message["error"]))]
        result = _object(message.get("result"))
        return [*self._seen(result.get("sessionId")), *self._end(result)]

    def known(self, call: str) -> Message:
        """All that was told of a call so far."""
        return self._calls.get(call, {})

    def _seen(self, session: object) -> Iterator[program.Noticed]:
        if isinstance(session, str) and session and not self._session:
            self._session = session
            yield program.SessionSeen(id=session)

    def _update(self, update: Message) -> Iterator[program.Noticed]:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                yield from self._speak()
                self._words.append(_text(_object(update.get("content")).get("text")))
            case "agent_thought_chunk":
                yield from self._speak()
            case "tool_call" | "tool_call_update":
                yield from self._tool(update)
            case "plan":
                yield from self._pause()
                yield from _planned(update.get("entries"))
            case "usage_update":
                yield from self._price(_object(update.get("cost")))
            case _:
                pass

    def _speak(self) -> Iterator[program.Noticed]:
        """One turn of the model is what it says and calls until a tool has returned."""
        if not self._speaking:
            self._speaking = True
            yield program.TurnTaken()

    def _pause(self) -> Iterator[program.Noticed]:
        if words := "".join(self._words).strip():
            self._last_words = words
            yield program.Said(text=words)
        self._words.clear()

    def _tool(self, update: Message, *, is_called: bool = False) -> Iterator[program.Noticed]:
        name = update.get("toolCallId")
        if not isinstance(name, str) or not name or name in self._over:
            return
        yield from self._pause()
        call = self._calls.setdefault(name, {})
        if not call:
            yield from self._speak()
        call.update({key: value for key, value in update.items() if value is not None})
        status = call.get("status")
        # The first word of a call often comes before its input does.
        if name not in self._told and (is_called or status not in (None, "pending")):
            self._told.add(name)
            yield program.ToolCalled(id=name, name=_title(call), input=_object(call.get("rawInput")))
        if status in ("completed", "failed"):
            self._speaking = False
            yield program.ToolReturned(id=name, text=_returned(call), is_error=status == "failed")
            self._over.add(name)
            del self._calls[name]

    def _price(self, cost: Message) -> Iterator[program.Noticed]:
        amount = cost.get("amount")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or cost.get("currency") != "USD":
            return
        if self._cost is not None and amount > self._cost:
            yield program.Spent(cost=amount - self._cost)
        self._cost = amount

    def _end(self, result: Message) -> Iterator[program.Noticed]:
        reason = result.get("stopReason")
        if not isinstance(reason, str):
            return
        yield from self._pause()
        self._speaking = False
        yield from _used(result)
        ended_well = reason == "end_turn"
        yield program.Finished(
            ok=ended_well, text=self._last_words, reason="" if ended_well else reason or "unknown"
        )


def _planned(entries: object) -> Iterator[program.Noticed]:
    items = [_object(each) for each in cast("list[object]", entries)] if isinstance(entries, list) else []
    plan = planned((_text(each.get("content")), _text(each.get("status"))) for each in items)
    if plan is not None:
        yield plan


def _used(result: Message) -> Iterator[program.Noticed]:
    usage = _object(result.get("usage"))
    taken, given = _count(usage.get("inputTokens")), _count(usage.get("outputTokens"))
    if not usage:
        # Gemini CLI counts in a place of its own.
        quota = _object(_object(result.get("_meta")).get("quota"))
        counts = _object(quota.get("token_count"))
        taken, given = _count(counts.get("input_tokens")), _count(counts.get("output_tokens"))
    if taken or given:
        yield program.Spent(input_tokens=taken, output_tokens=given)


def _failure(error: Message) -> Iterator[program.Noticed]:
    details = _text(_object(error.get("data")).get("details"))
    text = ": ".join(part for part in (_text(error.get("message")), details) if part)
    code = error.get("code")
    if isinstance(code, int) and code > 0:
        # The protocol's own codes are negative: an agent that hands on its service's status says so with it.
        reason = api_error(code)
    else:
        reason = "auth_required" if code == AUTH_REQUIRED else "protocol_error"
    yield program.Finished(ok=False, text=text, reason=reason)


def _title(call: Message) -> str:
    return _text(call.get("title")) or _text(call.get("kind")) or "tool"


def _returned(call: Message) -> str:
    """A tool's result: its texts, or else its raw output."""
    content = call.get("content")
    items = [_object(item) for item in content] if isinstance(content, list) else []
    texts = [
        _text(_object(item.get("content")).get("text")) for item in items if item.get("type") == "content"
    ]
    output = call.get("rawOutput")
    if any(texts) or output is None:
        return "\n".join(filter(None, texts))
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _object(value: object) -> Message:
    return cast("Message", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
