"""Google's generateContent, as Gemini CLI speaks it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

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
    system = body.get("systemInstruction") or {}
    declared = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    return Conversation(
        system=text_in(system if isinstance(system, str) else system.get("parts")),
        messages=tuple(message for entry in body["contents"] for message in _messages(entry)),
        tools=tuple(Tool(name=each["name"]) for each in declared),
    )


def _messages(entry: Json) -> Iterator[Message]:
    for part in entry["parts"]:
        if call := part.get("functionCall"):
            yield Called(id=call.get("id") or call["name"], tool=call["name"])
        elif result := part.get("functionResponse"):
            yield Result(id=result.get("id") or result["name"], text=_words(result.get("response")))
        elif "text" in part and entry.get("role") == "model":
            yield Said(text=part["text"])
        elif "text" in part:
            yield Prompt(text=part["text"])


def _words(response: object) -> str:
    """What a tool returned: its output where there is one, and otherwise everything there is."""
    if isinstance(response, dict) and isinstance(response.get("output"), str):
        output: str = response["output"]
        return output
    return json.dumps(response)


def _speak(body: Json, name: str, words: Sequence[Word]) -> Reply:
    return as_stream([("", _document(name, words))])


def _speak_whole(body: Json, name: str, words: Sequence[Word]) -> Reply:
    return as_json(_document(name, words))


def _document(name: str, words: Sequence[Word]) -> Json:
    content = {"role": "model", "parts": [_part(word) for word in words]}
    usage = {
        "promptTokenCount": PROMPT_TOKENS,
        "candidatesTokenCount": REPLY_TOKENS,
        "totalTokenCount": PROMPT_TOKENS + REPLY_TOKENS,
    }
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "scripted",
        "responseId": name,
    }


def _part(word: Word) -> Json:
    if isinstance(word, Play):
        return {"functionCall": {"id": word.id, "name": word.tool.name, "args": word.arguments}}
    return {"text": word.text}


def _refuse(status: int, message: str) -> Json:
    return {"error": {"code": status, "status": "INVALID_ARGUMENT", "message": message}}


STREAM = Dialect(
    name="gemini",
    path=":streamGenerateContent",
    call_prefix="fc_",
    listen=_listen,
    speak=_speak,
    refuse=_refuse,
)
GENERATE = replace(STREAM, path=":generateContent", speak=_speak_whole)
