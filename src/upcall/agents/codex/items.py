"""What Codex writes about its work, item by item: the tools it called, what came of it, and what it said.

The same things are written in two spellings: `codex exec` says `mcp_tool_call`, the app server `mcpToolCall`.
An item of an unexpected form yields nothing, and never an exception.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from upcall.domain.run.api_errors import api_error
from upcall.domain.run.program import Finished, Planned, Said, ToolCalled, ToolReturned
from upcall.domain.run.steps import planned

Json = Mapping[str, Any]

TURN_FAILED = "turn_failed"
_STATUS = re.compile(r"(?:unexpected|last) status:? (\d{3})\b", re.ASCII)
_LIMIT = "usage limit"

COMMAND = "exec_command"
PATCH = "apply_patch"


def fields_in(value: object) -> Json:
    """An object, or an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def text_in(value: object) -> str:
    """Text, or none."""
    return value if isinstance(value, str) else ""


def list_in(value: object) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def mcp_tool(server: str, tool: str) -> str:
    """What a tool of an MCP server is called."""
    return f"mcp__{server}__{tool}" if tool else f"mcp__{server}"


def called(item: Json) -> ToolCalled | None:
    """The call that an item is about, if it is one."""
    name, given = _call(item)
    return ToolCalled(id=text_in(item.get("id")), name=name, input=given) if name else None


def returned(item: Json) -> ToolReturned | None:
    """What came of the call that an item is about."""
    name, _ = _call(item)
    if not name:
        return None
    failed = text_in(item.get("status")) in {"failed", "declined"}
    return ToolReturned(id=text_in(item.get("id")), text=_result(item), is_error=failed)


def said(item: Json) -> Said | None:
    """The model's words, if that is what an item is."""
    text = text_in(item.get("text"))
    return Said(text=text) if item.get("type") in ("agent_message", "agentMessage") and text else None


def steps_in(item: Json) -> Planned | None:
    """The plan of `codex exec`, which it calls a list of things to do."""
    if item.get("type") != "todo_list":
        return None
    steps = [fields_in(each) for each in list_in(item.get("items"))]
    return planned(
        (text_in(each.get("text")), "completed" if each.get("completed") is True else "") for each in steps
    )


def plan_of(params: Json) -> Planned | None:
    """The plan of a thread of the app server, as its model updates it."""
    steps = [fields_in(each) for each in list_in(params.get("plan"))]
    return planned((text_in(each.get("step")), text_in(each.get("status"))) for each in steps)


def failed(error: object, last_words: str) -> Finished:
    """How a turn ended that did not end well; whether it was the model's service, only the sentence says."""
    why = text_in(fields_in(error).get("message"))
    status = _STATUS.search(why)
    if status is not None:
        reason = api_error(int(status[1]))
    else:
        reason = api_error(word="usage_limit") if _LIMIT in why else TURN_FAILED
    return Finished(ok=False, text=why or last_words, reason=reason)


def is_declined(item: Json) -> bool:
    """Whether something was not allowed."""
    return item.get("status") == "declined"


def _call(item: Json) -> tuple[str, Json]:
    match item.get("type"):
        case "command_execution" | "commandExecution":
            return COMMAND, {"command": text_in(item.get("command"))}
        case "file_change" | "fileChange":
            return PATCH, {"changes": list_in(item.get("changes"))}
        case "mcp_tool_call" | "mcpToolCall":
            name = mcp_tool(text_in(item.get("server")), text_in(item.get("tool")))
            return name, fields_in(item.get("arguments"))
        case "web_search" | "webSearch":
            return "web_search", {"query": text_in(item.get("query"))}
        case _:
            return "", {}


def _result(item: Json) -> str:
    output = item.get("aggregated_output", item.get("aggregatedOutput"))
    if isinstance(output, str):
        return output
    result = fields_in(item.get("result"))
    texts = [text_in(fields_in(part).get("text")) for part in list_in(result.get("content"))]
    problem = text_in(fields_in(item.get("error")).get("message"))
    return "\n".join(text for text in (*texts, problem) if text) or text_in(item.get("status"))


def parsed(line: str) -> Json | None:
    """The object that a line is, or None."""
    try:
        value = cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None
