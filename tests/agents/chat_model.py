"""OpenAI's chat completions, as opencode speaks it to any service that is not one of the big ones."""

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

USAGE = {
    "prompt_tokens": PROMPT_TOKENS,
    "completion_tokens": REPLY_TOKENS,
    "total_tokens": PROMPT_TOKENS + REPLY_TOKENS,
}


def _listen(body: Json) -> Conversation:
    return Conversation(
        system="\n".join(text_in(each["content"]) for each in body["messages"] if each["role"] == "system"),
        messages=tuple(message for each in body["messages"] for message in _messages(each)),
        tools=tuple(Tool(name=tool["function"]["name"]) for tool in body.get("tools") or ()),
    )


def _messages(entry: Json) -> Iterator[Message]:
    match entry["role"]:
        case "user":
            yield Prompt(text=text_in(entry["content"]))
        case "tool":
            yield Result(id=entry["tool_call_id"], text=text_in(entry["content"]))
        case "assistant":
            if words := text_in(entry.get("content")):
                yield Said(text=words)
            for call in entry.get("tool_calls") or ():
                yield Called(id=call["id"], tool=call["function"]["name"])
        case _:  # instructions, which are read apart
            return


def _speak(body: Json, name: str, words: Sequence[Word]) -> Reply:
    base: Json = {"id": name, "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    plays = [word for word in words if isinstance(word, Play)]
    said = "".join(word.text for word in words if not isinstance(word, Play))
    ending = "tool_calls" if plays else "stop"
    message: Json = {"role": "assistant", "content": said or None}
    if plays:
        message["tool_calls"] = [_call(index, play) for index, play in enumerate(plays)]
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": ending}
        return as_json(base | {"object": "chat.completion", "choices": [choice], "usage": USAGE})
    chunks = [
        base | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        base | {"choices": [{"index": 0, "delta": {}, "finish_reason": ending}]},
        base | {"choices": [], "usage": USAGE},
    ]
    return as_stream([*(("", chunk) for chunk in chunks), ("", "[DONE]")])


def _call(index: int, play: Play) -> Json:
    function = {"name": play.tool.name, "arguments": play.json}
    return {"index": index, "id": play.id, "type": "function", "function": function}


def _refuse(status: int, message: str) -> Json:
    return {"error": {"type": "invalid_request_error", "message": message, "code": status, "param": None}}


CHAT = Dialect(
    name="chat",
    path="/chat/completions",
    call_prefix="call_",
    listen=_listen,
    speak=_speak,
    refuse=_refuse,
)
