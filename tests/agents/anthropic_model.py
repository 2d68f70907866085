"""Anthropic's Messages, as Claude Code speaks it."""

from collections.abc import Iterator, Sequence

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


def _listen(body: Json) -> Conversation:
    return Conversation(
        system=text_in(body.get("system")),
        messages=tuple(message for each in body["messages"] for message in _messages(each)),
        tools=tuple(Tool(name=tool["name"]) for tool in body.get("tools") or ()),
    )


def _messages(entry: Json) -> Iterator[Message]:
    content = entry["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        match block["type"]:
            case "text" if entry["role"] == "assistant":
                yield Said(text=block["text"])
            case "text":
                yield Prompt(text=block["text"])
            case "tool_use":
                yield Called(id=block["id"], tool=block["name"])
            case "tool_result":
                yield Result(id=block["tool_use_id"], text=text_in(block.get("content")))
            case _:  # thoughts and pictures
                continue


def _speak(body: Json, name: str, words: Sequence[Word]) -> Reply:
    calls = any(isinstance(word, Play) for word in words)
    whole = {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [_block(word) for word in words],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": PROMPT_TOKENS,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": REPLY_TOKENS,
        },
    }
    if not body.get("stream"):
        return as_json(whole)
    return as_stream([(event["type"], event) for event in _events(whole, words)])


def _block(word: Word) -> Json:
    if isinstance(word, Play):
        return {"type": "tool_use", "id": word.id, "name": word.tool.name, "input": word.arguments}
    return {"type": "text", "text": word.text}


def _events(whole: Json, words: Sequence[Word]) -> Iterator[Json]:
    yield {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}
    for index, word in enumerate(words):
        if isinstance(word, Play):
            start = _block(word) | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": word.json}
        else:
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": word.text}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": REPLY_TOKENS}}
    yield {"type": "message_stop"}


def _refuse(status: int, message: str) -> Json:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


MESSAGES = Dialect(
    name="messages",
    path="/messages",
    call_prefix="toolu_",
    listen=_listen,
    speak=_speak,
    refuse=_refuse,
)
