"""OpenAI's Responses, as Codex speaks it."""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.agents.dialect import (
    PROMPT_TOKENS,
    REPLY_TOKENS,
    Dialect,
    Json,
    Play,
    Reply,
    Word,
    as_json,
    as_stream,
    text_in,
)
from tests.agents.script import Called, Conversation, Message, Prompt, Result, Said, Tool

CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
RESULTS = {
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "tool_search_output",
}

USAGE: dict[str, Any] = {
    "input_tokens": PROMPT_TOKENS,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": REPLY_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": PROMPT_TOKENS + REPLY_TOKENS,
}


def _listen(body: Json) -> Conversation:
    given = body["input"]
    items: list[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    # Some models are given their tools, or further ones that they searched for, on the way.
    further = [tool for item in items for tool in item.get("tools") or ()]
    return Conversation(
        system=body.get("instructions") or "",
        messages=tuple(message for item in items for message in _messages(item)),
        tools=tuple(_tools([*(body.get("tools") or ()), *further])),
    )


def _messages(item: Json) -> Iterator[Message]:
    kind = item.get("type", "message")
    if kind == "message" and item["role"] == "assistant":
        yield Said(text=text_in(item["content"]))
    elif kind == "message" and item["role"] == "user":
        yield Prompt(text=text_in(item["content"]))
    elif kind == "agent_message":
        # What agents say to each other; the vendor's service seals some of it, which no other service does.
        parts = [part.get("text") or part.get("encrypted_content") for part in item["content"]]
        yield Prompt(text="\n".join(parts))
    elif kind in CALLS:
        yield Called(id=item["call_id"], tool=item.get("name") or kind)
    elif kind in RESULTS:
        yield Result(id=item["call_id"], text=text_in(item.get("output")))


def _tools(listed: Sequence[Json], namespace: str = "") -> Iterator[Tool]:
    for tool in listed:
        if tool["type"] == "namespace":
            yield from _tools(tool["tools"], tool["name"])
        elif tool["type"] in {"function", "custom"}:
            yield Tool(name=tool["name"], namespace=namespace, freeform=tool["type"] == "custom")


def _speak(body: Json, name: str, words: Sequence[Word]) -> Reply:
    if not body.get("stream"):
        return as_json(_document(body, name, words))
    return as_stream([(event["type"], event) for event in _events(name, words)])


def _document(body: Json, name: str, words: Sequence[Word]) -> Json:
    """The whole reply at once, with what the service repeats of the request."""
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
        "output": [
            _item(f"{name}_{index}", word) | {"status": "completed"} for index, word in enumerate(words)
        ],
        "tools": body.get("tools") or [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "usage": USAGE,
    }


def _events(name: str, words: Sequence[Word]) -> Iterator[Json]:
    yield {"type": "response.created", "response": {"id": f"resp_{name}"}}
    for index, word in enumerate(words):
        item = _item(f"{name}_{index}", word)
        place = {"output_index": index, "item_id": item["id"]}
        if not isinstance(word, Play):
            started = item | {"content": []}
            yield {"type": "response.output_item.added", "output_index": index, "item": started}
            yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": word.text}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {"id": f"resp_{name}", "usage": USAGE}}


def _item(name: str, word: Word) -> Json:
    if not isinstance(word, Play):
        content = [{"type": "output_text", "text": word.text, "annotations": []}]
        return {"type": "message", "role": "assistant", "id": f"msg_{name}", "content": content}
    call: Json = {"id": f"item_{name}", "call_id": word.id, "name": word.tool.name}
    if word.tool.namespace:
        call["namespace"] = word.tool.namespace
    if word.tool.freeform:
        return call | {"type": "custom_tool_call", "input": word.arguments["input"]}
    return call | {"type": "function_call", "arguments": word.json}


def _refuse(status: int, message: str) -> Json:
    return {"error": {"type": "invalid_request_error", "message": message, "code": status, "param": None}}


RESPONSES = Dialect(
    name="responses",
    path="/responses",
    call_prefix="call_",
    listen=_listen,
    speak=_speak,
    refuse=_refuse,
)
