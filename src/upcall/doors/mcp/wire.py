"""The MCP messages that Upcall needs, as plain dictionaries: a blocked agent costs no objects of the SDK.

Two eras are spoken: `initialize` with the revisions up to 2025-11-25, and 2026-07-28, in which every request
brings its own envelope. A test compares these answers with the official SDK's.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import orjson

from upcall import __version__
from upcall.doors.mcp.definitions import INSTRUCTIONS, Definition
from upcall.doors.mcp.meta import TASKS
from upcall.doors.mcp.tools import ToolResult

NAME: Final = "upcall"
TITLE: Final = "Upcall"
HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_VERSION: Final = -32022
MISSING_CAPABILITY: Final = -32021
HEADER_MISMATCH: Final = -32020

PREFIX: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = PREFIX + "protocolVersion"
CAPABILITIES_KEY: Final = PREFIX + "clientCapabilities"
SERVER_INFO_KEY: Final = PREFIX + "serverInfo"

RequestId = str | int
Message = dict[str, object]

SERVER_INFO: Final[Message] = {"name": NAME, "title": TITLE, "version": __version__}
CAPABILITIES: Final[Message] = {"tools": {"listChanged": False}}
EXTENSIONS: Final[dict[str, dict[str, object]]] = {TASKS: {}}


def encoded(message: Message) -> bytes:
    """A message as one line. Everything beyond ASCII is escaped, so no reader can see a line end inside it."""
    # What the faster encoder cannot write, or does not escape, is left to the standard library.
    with suppress(TypeError):
        line = orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
        if line.isascii():
            return line
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def response(request_id: RequestId, result: Message) -> Message:
    """A reply."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error(request_id: RequestId | None, code: int, message: str, data: object = None) -> Message:
    """An error reply; the id is null where none could be read."""
    problem: Message = {"code": code, "message": message}
    if data is not None:
        problem["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": problem}


def progress(token: str | int, value: int, message: str) -> Message:
    """A sign of life."""
    params: Message = {"progressToken": token, "progress": value, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def initialized(version: str) -> Message:
    """The result of `initialize`."""
    return {
        "protocolVersion": version,
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }


def first_replies(definitions: Sequence[Definition]) -> Message:
    """What pipes may tell their agents before they have met the daemon, by the method; the version is negotiated there."""
    handshake = initialized("")
    del handshake["protocolVersion"]
    return {"initialize": handshake, "tools/list": listed(definitions, modern=False)}


def discovered(*, tasks: bool) -> Message:
    """The result of `server/discover`."""
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": {**CAPABILITIES, "extensions": EXTENSIONS} if tasks else CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
        **_envelope(),
    }


def listed(definitions: Sequence[Definition], *, modern: bool) -> Message:
    """The result of `tools/list`."""
    tools: Message = {"tools": [definition.document() for definition in definitions]}
    return {**tools, "ttlMs": 0, "cacheScope": "private", **_envelope()} if modern else tools


def structured(result: ToolResult) -> Message:
    """The data of a result. Claude Code shows its model nothing else where there is any, so the text is in it too."""
    return result.structured if result.is_error else {**result.structured, "message": result.text}


def has_structure(result: ToolResult) -> bool:
    """Whether a result has data. One with pictures has none: beside data, Claude Code shows its model no content."""
    return bool(result.structured) and not result.pictures


def called(result: ToolResult, *, modern: bool) -> Message:
    """The result of `tools/call`."""
    content = [{"type": "text", "text": result.text}, *(picture.document() for picture in result.pictures)]
    told: Message = {"content": content, "isError": result.is_error}
    if has_structure(result):
        told["structuredContent"] = structured(result)
    return told | _envelope() if modern else told


def enveloped(result: Message) -> Message:
    """A result of 2026-07-28; `complete` unless it says otherwise."""
    return _envelope() | result


def _envelope() -> Message:
    return {"resultType": "complete", "_meta": {SERVER_INFO_KEY: SERVER_INFO}}
